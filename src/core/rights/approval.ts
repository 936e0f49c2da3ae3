/**
 * An approval: a question to a person about one tool call, and its answer (M31). It is bound to the exact call by a digest. A
 * yes executes that call once: in the run that waits for it, or in a run of its own. It ends by time and never turns a
 * denial into a permission: the rights of all people are judged again when the call starts (L13).
 */
import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";
import { agentIdSchema } from "../id-schemas.ts";
import type { AgentId, RunId } from "../ids.ts";
import { type Behalf, behalfSchema } from "../people/behalf.ts";
import type { PersonId } from "../people/person.ts";
import { personIdSchema } from "../people/person-record.ts";
import { effectDetailSchema } from "./effect-detail.ts";
import { RIGHTS } from "./right.ts";

/**
 * `pending → approved → used`, or one of the other ends. `approved`: a yes that no call has used yet. `withdrawn`: the run was
 * aborted, stopped or reset, or what was approved has changed.
 */
export const APPROVAL_STATES = ["pending", "approved", "denied", "expired", "withdrawn", "used"] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];
/** States that have not ended. */
export const OPEN_APPROVALS = ["pending", "approved"] as const;

/** How many questions may wait for the calls of one person (M44). */
export const MAX_OPEN_QUESTIONS = 50;

/** How long a yes may be used. */
export const GRANT_MS = 24 * 3600_000;

/** Four letters that are easy to say and to type; no letter looks like a digit. */
const LETTERS = "abcdefghjkmnpqrstuvwxyz";
const APPROVAL_ID = /^[a-hjkmnp-z]{4}$/;

declare const brand: unique symbol;
export type ApprovalId = string & { readonly [brand]: "ApprovalId" };

const approvalIdSchema = z
  .string()
  .regex(APPROVAL_ID, "an approval's id has four letters")
  .transform((id) => id as ApprovalId);

/** The id as people type it: any case, spaces around it. Undefined for a text that is no id. */
export function parseApprovalId(text: string): ApprovalId | undefined {
  if (text.length > 64) return undefined;
  const id = text.trim().toLowerCase();
  return APPROVAL_ID.test(id) ? (id as ApprovalId) : undefined;
}

/** An id from the random end of a uuid. The store refuses one that is taken. */
export function approvalIdOf(uuid: string): ApprovalId {
  let rest = Number.parseInt(uuid.slice(-12), 16);
  let id = "";
  while (id.length < 4) {
    id += LETTERS[rest % LETTERS.length];
    rest = Math.floor(rest / LETTERS.length);
  }
  return id as ApprovalId;
}

/** What a rule that is made of the answer would name. */
export const askedEffectSchema = z
  .object({
    action: z.string(),
    target: z.string().optional(),
    of: personIdSchema.optional(),
    rights: z.array(z.enum(RIGHTS)).readonly(),
    detail: effectDetailSchema.optional(),
    /** The tool wanted the question. */
    needsYes: z.boolean().optional(),
  })
  .readonly();

const newApprovalSchema = z
  .object({
    id: approvalIdSchema,
    agentId: agentIdSchema,
    runId: z
      .string()
      .min(1)
      .transform((id) => id as RunId),
    callId: z.string(),
    behalf: behalfSchema,
    tool: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    /** Covers the tool and its definition, arguments, directory, names of the environment, and hashes of the arguments that are existing files. */
    digest: z.string().min(1),
    /** Absent: an earlier version asked. Its digest has no definition, and its yes may be used by any call of this digest. */
    version: z.literal(2).optional(),
    /** The files whose contents are part of the digest. */
    files: z.array(z.string()).readonly().optional(),
    /** The question, as it is shown to people. */
    prompt: z.string(),
    effects: z.array(askedEffectSchema).readonly().optional(),
    /** Where the run's answer goes. A yes that comes later is worked on for the same address. */
    delivery: deliveryContextSchema.optional(),
    /** Where the question was sent. */
    chat: deliveryContextSchema.optional(),
    askedAt: z.number().int(),
    /** When it expires. After a yes: until when the yes may be used. */
    dueAt: z.number().int(),
  })
  .readonly();
export type NewApproval = z.infer<typeof newApprovalSchema>;

export const approvalSchema = newApprovalSchema.unwrap().extend({
  state: z.enum(APPROVAL_STATES),
  decidedAt: z.number().int().optional(),
  /** A person's id, or `system`. */
  decidedBy: z.string().optional(),
  surface: z.string().optional(),
  reason: z.string().optional(),
  /** How many sends of the question may have arrived. Absent: none, or its person knows how it ended. */
  shown: z.number().int().optional(),
  /** The call that has used the yes. Only this one resumes after a crash. */
  used: z.object({ runId: z.string(), callId: z.string() }).readonly().optional(),
});
type ApprovalRecord = Readonly<z.infer<typeof approvalSchema>>;

/** A stored row; `n` rises with time. */
export type Approval = ApprovalRecord & { readonly n: number };

/** Which rows to list, the newest first. */
export interface ApprovalFilter {
  readonly limit: number;
  readonly beforeN?: number;
  readonly states?: readonly ApprovalState[];
  readonly agentId?: AgentId;
  /** The person the calls act for. */
  readonly person?: PersonId;
  /** Only those that were withdrawn after they may have arrived, and whose person has no notice of it yet. */
  readonly untold?: true;
}

/** Whether a yes can be used now. */
export const isUsable = (approval: Approval | undefined, now: number): approval is Approval & { state: "approved" } =>
  approval?.state === "approved" && approval.dueAt > now;

/** Whether a person may say no: everyone on the way of the call. */
export const isOnTheWay = ({ person, through = [] }: Behalf, one: PersonId): boolean =>
  person === one || through.includes(one);
