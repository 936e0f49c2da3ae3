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
  allow: subject().describe(
    "what may happen for this person: an action or `action(target)`; `*` at the end stands for any ending",
  ),
  ask: subject().describe("what needs an approval"),
  deny: subject().describe("what may not happen; each grant has one of these three"),
  note: text("a note").max(1_000).optional().describe("why there is this grant"),
  when: oneOf(["untrusted"])
    .optional()
    .describe("`untrusted`: an `ask` or `deny` counts only with untrusted text in context; an `allow` also with it"),
})
  .refine((grant) => WORDS.filter((word) => grant[word] !== undefined).length === 1, { error: `expected ${GRANT}` })
  .transform((grant) => grant as Grant);

const personSchema = section({
  name: text("a name")
    .max(200)
    .optional()
    .describe("the name of a person; `<name>` is the id: lower-case letters, digits, dots, dashes and underscores"),
  role: oneOf(["guest", "contact"]).default("guest").describe("`contact` is someone who only writes to a swarm"),
  accounts: list(
    text(ACCOUNT)
      .max(512)
      .regex(/^[^:\s]+:\S.*$/u, `expected ${ACCOUNT}`),
  )
    .refine((accounts) => accounts.length <= 32, { error: "expected at most 32 accounts" })
    .prefault([])
    .describe('the accounts of this person, each `"channel:id"`; an account belongs to one person'),
  grants: list(grantSchema)
    .refine((grants) => grants.length <= 256, { error: "expected at most 256 grants" })
    .prefault([]),
  limits: section({
    messagesPerDay: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().describe("messages of this person per day"),
    tokensPerDay: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().describe("model tokens of this person per day"),
    dollarsPerDay: amount().optional().describe("dollars of this person per day"),
    quietHours: text(QUIET_HOURS_EXPECTED)
      .regex(QUIET_HOURS, `expected ${QUIET_HOURS_EXPECTED}`)
      .optional()
      .describe(
        "such as `22:00-07:00` in the person's time zone: reports and heartbeats to this person wait until they end, or until the person writes. Answers never wait, nor the person's own jobs at an hour that they name, as a reminder at 23:00",
      ),
  }).optional(),
  timeZone: text("the name of a time zone")
    .max(64)
    .optional()
    .describe("the time zone of this person; `session.timeZone` if it is not set"),
  language: text("a language, such as de").max(35).optional().describe("the language of this person, such as `de`"),
});
export type ConfiguredPerson = z.output<typeof personSchema>;

const ID =
  "expected a person's id of 1 to 64 lower-case letters, digits, dots, dashes or underscores, other than owner";

export const peopleSchema = section({
  unknown: oneOf(["stranger", "guest"])
    .default(peopleDefaults.unknown)
    .describe("the role of an account of a channel that belongs to no one here; a stranger has no rights"),
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
})
  .prefault({})
  .meta({ description: "the people who may use this installation", page: "people.md" });
