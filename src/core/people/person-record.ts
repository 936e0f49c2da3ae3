/** The record of a person, and the check of an id that comes from outside. */
import { z } from "zod";
import { grantsSchema } from "./grant.ts";
import { kindOfPerson, OWNER, type PersonId, RECORD_ID } from "./person.ts";
import { QUIET_HOURS, QUIET_HOURS_EXPECTED } from "./quiet-hours.ts";

/** Longer names are refused, because every message stores its people. */
const MAX_ID = 512;

export const personIdSchema = z
  .string()
  .min(1)
  .max(MAX_ID)
  .refine((id) => kindOfPerson(id) !== undefined, "not the id of a person")
  .transform((id) => id as PersonId);

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
