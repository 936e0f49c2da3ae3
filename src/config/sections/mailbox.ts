/** How much waits in the mailbox of an API user or a terminal, how long, and which deliveries go to an application instead (M27). */
import { secretSchema } from "../secret.ts";
import { amount, flag, httpUrl, list, named, section, text, wholeNumber } from "../values.ts";

export const mailboxDefaults = { maxWaiting: 1_000, retentionDays: 30 } as const;

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
  maxWaiting: wholeNumber(1, 1_000_000).default(mailboxDefaults.maxWaiting),
  retentionDays: amount(36_500).default(mailboxDefaults.retentionDays),
  webhooks: named(webhookSchema).prefault({}),
}).prefault({});
