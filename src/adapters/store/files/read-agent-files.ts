/**
 * Reads the files of one agent that are read whole, strictly: their content becomes rows again. An agent without a valid
 * descriptor, history and state is reported and skipped, and its directory stays unchanged. A newer state is never read as an
 * older one (L11); a missing one is replaced by the defaults.
 */
import { z } from "zod";
import { type AgentDescriptor, parseDescriptor } from "../../../core/agent/descriptor.ts";
import { type AgentState, parseState } from "../../../core/agent/state.ts";
import { deliveryContextSchema, payloadSchema } from "../../../core/delivery/delivery.ts";
import { OPEN_STATES } from "../../../core/delivery/delivery-states.ts";
import { CorruptDataError, RookeryError } from "../../../core/errors.ts";
import { sessionIdSchema, sessionKeySchema } from "../../../core/id-schemas.ts";
import type { AgentId } from "../../../core/ids.ts";
import { newMessageSchema } from "../../../core/message/message.ts";
import { personIdSchema } from "../../../core/people/person-record.ts";
import { approvalSchema, OPEN_APPROVALS } from "../../../core/rights/approval.ts";
import { runBodySchema } from "../../../core/run/run.ts";
import { type AgentPaths, agentPaths, PENDING_VERSION } from "./file-format.ts";
import { checkHistory } from "./history-lines.ts";
import { stateWithoutFile } from "./lost-state.ts";
import type { RestoreContext } from "./restore-context.ts";

const stoppedSchema = z.object({ at: z.number(), reason: z.string(), seq: z.number().optional() });

const engineSchema = z.object({
  sessionKey: sessionKeySchema,
  profile: z.string().min(1),
  person: personIdSchema.optional(),
  sessionId: sessionIdSchema,
  createdAt: z.number().int(),
  stopped: stoppedSchema.optional(),
});
type EngineRecord = z.infer<typeof engineSchema>;

const pendingSchema = z.looseObject({
  version: z.literal(PENDING_VERSION),
  sessionKey: sessionKeySchema.optional(),
  profile: z.string().min(1).optional(),
  person: personIdSchema.optional(),
  stopped: stoppedSchema.optional(),
  nextSeq: z.number().int().positive(),
  nextPos: z.number().int().nonnegative(),
  leaf: z.string().min(1),
  lastHumanAt: z.number().int().optional(),
  messages: z.array(
    z.object({
      seq: z.number().int().positive(),
      state: z.enum(["waiting", "taken"]),
      runId: z.string().optional(),
      message: newMessageSchema,
    }),
  ),
  run: z
    .object({
      id: z.string().min(1),
      sessionId: z.string().min(1),
      attempt: z.number().int(),
      step: z.number().int(),
      startedAt: z.number().int(),
      abort: z.unknown().optional(),
      body: runBodySchema,
    })
    .optional(),
  deliveries: z.array(
    z.object({
      id: z.string().min(1),
      runId: z.string().optional(),
      state: z.enum(OPEN_STATES),
      attempts: z.number().int(),
      nextAt: z.number().int(),
      createdAt: z.number().int(),
      reason: z.string().optional(),
      target: deliveryContextSchema,
      payload: payloadSchema,
    }),
  ),
  approvals: z.array(approvalSchema.extend({ state: z.enum(OPEN_APPROVALS) })).optional(),
  dedupe: z.array(z.tuple([z.string(), z.number().int(), z.number().int()])),
});
export type PendingFile = z.infer<typeof pendingSchema>;

export interface AgentFiles {
  readonly id: AgentId;
  readonly paths: AgentPaths;
  readonly descriptor: AgentDescriptor;
  readonly state: ReturnType<typeof parseStateFile>;
  readonly pending: PendingFile | undefined;
}

/** Undefined if the agent cannot be restored; the reason is reported and its directory stays unchanged. */
export function readAgentFiles(context: RestoreContext, id: AgentId): AgentFiles | undefined {
  const { files, report } = context;
  const paths = agentPaths(id);
  const text = (path: string): string => {
    const bytes = files.read(path);
    if (bytes) return bytes.toString();
    throw new CorruptDataError(`${path} is missing.`, { hint: "The other files of the agent were left unchanged." });
  };
  let at = paths.descriptor;
  try {
    const descriptor = parseDescriptor(parseJson(text(at), at), at);
    at = paths.history;
    checkHistory(files, at);
    at = paths.state;
    const known = files.size(at) === undefined ? undefined : parseStateFile(text(at), at);
    const pending = readPending(context, paths.pending);
    const state = known ?? stateWithoutFile(context, paths, descriptor, pending);
    return { id, paths, descriptor, state, pending };
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    report({ file: at, reason: error.message, consequence: "agent-skipped", code: error.code });
    return undefined;
  }
}

function readPending({ files, report, keep }: RestoreContext, path: string): PendingFile | undefined {
  const bytes = files.read(path);
  try {
    if (bytes) return parsePendingFile(bytes.toString(), path);
    report({ file: path, reason: `${path} is missing.`, consequence: "file-skipped" });
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    report({ file: path, reason: error.message, consequence: "file-skipped", code: error.code });
    keep(path);
  }
  return undefined;
}

/** Reads a `state.json`. Throws `CorruptDataError` if it cannot be used; a newer version is refused and never overwritten. */
export function parseStateFile(text: string, where: string): { state: AgentState; engine: EngineRecord } {
  const { _engine, ...state } = parseJson(text, where) as Record<string, unknown>;
  const parsed = parseState(state, where);
  const engine = engineSchema.safeParse(_engine);
  if (engine.success) return { state: parsed, engine: engine.data };
  throw new CorruptDataError(`The part \`_engine\` of ${where} is not valid: ${z.prettifyError(engine.error)}`, {
    hint: "The file was left unchanged. Restore it from a backup.",
  });
}

/** Reads a `pending.json`. Throws `CorruptDataError` if the file cannot be used. */
export function parsePendingFile(text: string, where: string): PendingFile {
  const result = pendingSchema.safeParse(parseJson(text, where));
  if (result.success) return result.data;
  throw new CorruptDataError(`${where} is not valid: ${z.prettifyError(result.error)}`, {
    hint: "The file was left unchanged. Restore it from a backup.",
  });
}

/** Any JSON object or array. Throws `CorruptDataError`, which names the file, otherwise. */
export function parseJson(text: string, where: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw new CorruptDataError(`${where} is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: "The file was left unchanged.",
    });
  }
  throw new CorruptDataError(`${where} holds no JSON object.`, { hint: "The file was left unchanged." });
}
