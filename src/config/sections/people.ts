/** The people whose records the configuration keeps, and the role of accounts that belong to no one's record. */
import type { z } from "zod";
import { type Grant, parseSubject } from "../../core/people/grant.ts";
import { isRecordId } from "../../core/people/person.ts";
import { QUIET_HOURS, QUIET_HOURS_EXPECTED } from "../../core/people/quiet-hours.ts";
import { amount, list, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const peopleDefaults = { unknown: "stranger" } as const;

const ACCOUNT = 'an account as "channel:id"';
const GRANT = 'one of allow, ask or deny with ACTION or ACTION(TARGET), such as { allow: "send(telegram:42)" }';
const WORDS = ["allow", "ask", "deny"] as const;

const subject = () =>
  text(GRANT)
    .refine((given) => parseSubject(given) !== undefined, { error: `expected ${GRANT}` })
    .optional();

const grantSchema = section({
  allow: subject(),
  ask: subject(),
  deny: subject(),
  note: text("a note").max(1_000).optional(),
  when: oneOf(["untrusted"]).optional(),
})
  .refine((grant) => WORDS.filter((word) => grant[word] !== undefined).length === 1, { error: `expected ${GRANT}` })
  .transform((grant) => grant as Grant);

const personSchema = section({
  name: text("a name").max(200).optional(),
  role: oneOf(["guest", "contact"]).default("guest"),
  accounts: list(
    text(ACCOUNT)
      .max(512)
      .regex(/^[^:\s]+:\S.*$/u, `expected ${ACCOUNT}`),
  )
    .refine((accounts) => accounts.length <= 32, { error: "expected at most 32 accounts" })
    .prefault([]),
  grants: list(grantSchema)
    .refine((grants) => grants.length <= 256, { error: "expected at most 256 grants" })
    .prefault([]),
  limits: section({
    messagesPerDay: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
    tokensPerDay: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
    dollarsPerDay: amount().optional(),
    quietHours: text(QUIET_HOURS_EXPECTED).regex(QUIET_HOURS, `expected ${QUIET_HOURS_EXPECTED}`).optional(),
  }).optional(),
  timeZone: text("the name of a time zone").max(64).optional(),
  language: text("a language, such as de").max(35).optional(),
});
export type ConfiguredPerson = z.output<typeof personSchema>;

const ID =
  "expected a person's id of 1 to 64 lower-case letters, digits, dots, dashes or underscores, other than owner";

export const peopleSchema = section({
  unknown: oneOf(["stranger", "guest"]).default(peopleDefaults.unknown),
  records: named(personSchema)
    .superRefine((records, context) => {
      const owners = new Map<string, string>();
      for (const [id, { accounts }] of Object.entries(records)) {
        if (!isRecordId(id)) context.addIssue({ code: "custom", path: [id], message: ID });
        for (const account of accounts) {
          const other = owners.get(account);
          owners.set(account, id);
          if (other === undefined || other === id) continue;
          const message = `expected accounts of one person only: ${account} belongs to ${other} too`;
          context.addIssue({ code: "custom", path: [id, "accounts"], message });
        }
      }
    })
    .prefault({}),
}).prefault({});
