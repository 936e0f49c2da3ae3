/**
 * `state.json`: the agent's state record as the database has it, and under `_engine` what else it takes to make the agent
 * again. What changes with every step stands in `pending.json`, so that this file is seldom rewritten.
 */
import { z } from "zod";
import { CorruptDataError } from "../../core/errors.ts";
import { sessionIdSchema, sessionKeySchema } from "../../core/ids.ts";
import { type AgentState, parseState } from "../../core/state.ts";
import { jsonText } from "./layout.ts";
import type { AgentRow } from "./mirror-source.ts";

const engineSchema = z.object({
  sessionKey: sessionKeySchema,
  profile: z.string().min(1),
  sessionId: sessionIdSchema,
  createdAt: z.number().int(),
  stopped: z.object({ at: z.number(), reason: z.string(), seq: z.number().optional() }).optional(),
});
export type EngineRecord = z.infer<typeof engineSchema>;

export function stateText(row: AgentRow): string {
  const engine = {
    sessionKey: row.session_key,
    profile: row.profile,
    sessionId: row.session_id,
    createdAt: row.created_at,
    ...(row.stopped === null ? {} : { stopped: JSON.parse(row.stopped) as unknown }),
  };
  return jsonText({ ...(JSON.parse(row.state) as object), _engine: engine });
}

/** Throws `CorruptDataError` where the file cannot be used; a newer version is refused and never written over. */
export function parseStateFile(text: string, where: string): { state: AgentState; engine: EngineRecord } {
  const { _engine, ...state } = parseJson(text, where) as Record<string, unknown>;
  const parsed = parseState(state, where);
  const engine = engineSchema.safeParse(_engine);
  if (engine.success) return { state: parsed, engine: engine.data };
  throw new CorruptDataError(`The part \`_engine\` of ${where} is not valid: ${z.prettifyError(engine.error)}`, {
    hint: "The file was left as it is. Restore it from a backup.",
  });
}

/** Any JSON object or array; a typed error names the file otherwise. */
export function parseJson(text: string, where: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw new CorruptDataError(`${where} is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: "The file was left as it is.",
    });
  }
  throw new CorruptDataError(`${where} holds no JSON object.`, { hint: "The file was left as it is." });
}
