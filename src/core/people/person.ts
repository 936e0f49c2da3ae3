/**
 * A person: things happen for people. Messages, runs, jobs, children, files and approvals name the people on their way by
 * these ids, and the rights of these people decide (L13, M30).
 *
 * `owner`: the person the installation belongs to. `ann`: a person with a record. `telegram:42`, `api:ann`: an account on a
 * channel that belongs to no record. `telegram:group:-100`: all members of a group together. `app:shop/ann`: a user that an
 * application vouches for, inside the application's own names.
 */
import { z } from "zod";
import { sameForm } from "../same-id.ts";
import { grantsSchema } from "./grant.ts";
import { QUIET_HOURS, QUIET_HOURS_EXPECTED } from "./quiet-hours.ts";

declare const brand: unique symbol;
export type PersonId = string & { readonly [brand]: "PersonId" };

export const OWNER = "owner" as PersonId;

/** The form of an id that a person chooses for another: short, without case and without the signs of the other forms. */
const RECORD_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;
/** Longer names are refused, because every message stores its people. */
const MAX_ID = 512;

export const personIdSchema = z
  .string()
  .min(1)
  .max(MAX_ID)
  .refine((id) => kindOfPerson(id) !== undefined, "not the id of a person")
  .transform((id) => id as PersonId);

type PersonKind = "owner" | "record" | "app" | "group" | "account";

const GROUPS = ["group:", "channel:"];

/** Which form an id has; undefined if it has none of them. */
export function kindOfPerson(id: string): PersonKind | undefined {
  if (id === OWNER) return "owner";
  if (RECORD_ID.test(id)) return "record";
  const colon = id.indexOf(":");
  if (colon < 1 || colon === id.length - 1) return undefined;
  const rest = id.slice(colon + 1);
  if (id.startsWith("app:")) return /^[^/]+\/[\s\S]/u.test(rest) ? "app" : undefined;
  return GROUPS.some((word) => rest.startsWith(word) && rest !== word) ? "group" : "account";
}

/** Whether a name can be the id of a record. `owner` is taken. */
export const isRecordId = (name: string): boolean => name !== OWNER && RECORD_ID.test(name);

/** Keeps an id apart from the ids of groups: a channel lets people choose their names. */
const DIRECT = "dm:";

/** An account on a channel. */
export function accountOf(channel: string, id: string): PersonId {
  const same = sameForm(id);
  return `${channel}:${[...GROUPS, DIRECT].some((word) => same.startsWith(word)) ? DIRECT : ""}${same}` as PersonId;
}

/** All members of a group. */
export const groupOf = (channel: string, kind: "group" | "channel", id: string): PersonId =>
  `${channel}:${kind}:${sameForm(id)}` as PersonId;

// A slash in the first part would let one name be read as another's.
const part = (text: string): string => sameForm(text).replaceAll("%", "%25").replaceAll("/", "%2F");

/** A user of an application. Two applications with a user of the same name mean two people. */
export const appUser = (application: string, user: string): PersonId =>
  `app:${part(application)}/${sameForm(user)}` as PersonId;

/** The application in the id of one of its users. */
export function applicationOf(id: PersonId): string | undefined {
  if (!id.startsWith("app:")) return undefined;
  return id.slice("app:".length, id.indexOf("/")).replaceAll("%2F", "/").replaceAll("%25", "%");
}

export const ROLES = ["owner", "guest", "contact", "stranger"] as const;
/** `guest`: a person the owner let in. `contact`: writes to a swarm only. `stranger`: no one let them in; no rights. */
export type Role = (typeof ROLES)[number];

const account = z
  .string()
  .normalize("NFC")
  .trim()
  .regex(/^[^\s:]+:\S.*$/u, "an account is CHANNEL:ID, such as telegram:42")
  .max(MAX_ID);

/** Limits of one person in one day, and when the person is not disturbed. An absent one means no limit. */
export const personLimitsSchema = z.strictObject({
  messagesPerDay: z.number().int().min(0).optional(),
  tokensPerDay: z.number().int().min(0).optional(),
  dollarsPerDay: z.number().min(0).optional(),
  /** When the person gets nothing that they did not ask for. */
  quietHours: z.string().regex(QUIET_HOURS, `expected ${QUIET_HOURS_EXPECTED}`).optional(),
});
export type PersonLimits = z.infer<typeof personLimitsSchema>;

export const personRecordSchema = z
  .strictObject({
    id: z
      .string()
      .refine((id) => RECORD_ID.test(id), "a person's id has 1 to 64 lower-case letters, digits, dots or dashes"),
    name: z.string().trim().min(1).max(200).optional(),
    /** The owner's record only keeps rules. */
    role: z.enum(["guest", "contact", "owner"]),
    /** The person's accounts on channels, as `channel:id`. An account belongs to one person. */
    accounts: z.array(account).max(32).readonly().default([]),
    grants: grantsSchema.default([]),
    limits: personLimitsSchema.optional(),
    timeZone: z.string().max(64).optional(),
    language: z.string().max(35).optional(),
    createdAt: z.number().int(),
    /** Who made the record: a person's id, or `config`. */
    createdBy: z.string().max(MAX_ID),
  })
  .refine(
    ({ id, role, accounts }) => (id === OWNER) === (role === "owner") && (id !== OWNER || accounts.length === 0),
    "owner is the id of the installation's owner, whose accounts stand in the configuration",
  )
  .readonly();
export type PersonRecord = z.infer<typeof personRecordSchema>;
