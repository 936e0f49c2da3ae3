/** How much waits in the mailbox of an API user or a terminal, and how long (M27). */
import { amount, section, wholeNumber } from "../values.ts";

export const mailboxDefaults = { maxWaiting: 1_000, retentionDays: 30 } as const;

export const mailboxSchema = section({
  maxWaiting: wholeNumber(1, 1_000_000).default(mailboxDefaults.maxWaiting),
  retentionDays: amount(36_500).default(mailboxDefaults.retentionDays),
}).prefault({});
