/** Which deliveries of API users and of the owner go to an application instead of a mailbox (M27). */
import { secretSchema } from "../secret.ts";
import { flag, httpUrl, list, named, section, text } from "../values.ts";

const webhookSchema = section({
  url: httpUrl(),
  /** Signs every request. */
  secret: secretSchema,
  /** API users whose deliveries it gets. */
  users: list(text("the name of an API user")).default([]),
  /** Whether it gets the owner's. */
  owner: flag().default(false),
  /** Or all that agents of these profiles say to API users and the owner. */
  profiles: list(text("the name of a profile")).default([]),
}).refine(({ users, owner, profiles }) => users.length > 0 || owner || profiles.length > 0, {
  error: "expected users, owner or profiles: otherwise nothing is sent to it",
});

export const mailboxSchema = section({
  webhooks: named(webhookSchema).prefault({}),
}).prefault({});
