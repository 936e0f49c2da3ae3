/** Which deliveries of API users and of the owner go to an application instead of a mailbox (M27). */
import { secretSchema } from "../secret.ts";
import { flag, httpUrl, list, named, section, text } from "../values.ts";

const webhookSchema = section({
  url: httpUrl().describe("an address that gets deliveries instead of the mailbox"),
  secret: secretSchema.describe("the secret that signs every request"),
  users: list(text("the name of an API user")).default([]).describe("the API users whose deliveries it gets"),
  owner: flag().default(false).describe("whether it gets the owner's"),
  profiles: list(text("the name of a profile"))
    .default([])
    .describe("all that agents of these profiles say to API users and to the owner"),
}).refine(({ users, owner, profiles }) => users.length > 0 || owner || profiles.length > 0, {
  error: "expected users, owner or profiles: otherwise nothing is sent to it",
});

export const mailboxSchema = section({
  webhooks: named(webhookSchema).prefault({}),
})
  .prefault({})
  .meta({ description: "where deliveries for API users and the owner go instead of a mailbox", page: "deliveries.md" });
