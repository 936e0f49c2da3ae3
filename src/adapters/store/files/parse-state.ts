/** Reads `state.json`, strictly: the agent's state, and what else it takes to make the agent again. */
import { z } from "zod";
import { type AgentState, parseState } from "../../../core/agent/state.ts";
import { CorruptDataError } from "../../../core/errors.ts";
import { sessionIdSchema, sessionKeySchema } from "../../../core/id-schemas.ts";
import { parseJson } from "./parse-json.ts";

const engineSchema = z.object({
  sessionKey: sessionKeySchema,
  profile: z.string().min(1),
  sessionId: sessionIdSchema,
  createdAt: z.number().int(),
  stopped: z.object({ at: z.number(), reason: z.string(), seq: z.number().optional() }).optional(),
});
export type EngineRecord = z.infer<typeof engineSchema>;

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
