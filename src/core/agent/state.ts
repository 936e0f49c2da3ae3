/**
 * An agent's mutable record (`state.json`). One part of the engine writes each field. The record is always spread, never
 * rebuilt from a list of fields, so that unknown fields are kept.
 */
import { z } from "zod";
import { CorruptDataError } from "../errors.ts";
import { permissionsSchema } from "../message/permissions.ts";
import { grantsSchema } from "../people/grant.ts";
import { backgroundProcessSchema } from "./background-process.ts";
import { inheritedExecSchema } from "./exec-fields.ts";
import { STATE_VERSION } from "./fresh-state.ts";
import { sessionEntryFields } from "./session-entry.ts";

export const tokenSizeSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  total: z.number(),
});
export type TokenSize = z.infer<typeof tokenSizeSchema>;

export const agentStateSchema = z.looseObject({
  version: z.literal(STATE_VERSION),
  createdAt: z.number().int(),
  updatedAt: z.number().int(),
  /** When a person's message was last answered in this session. Daily and idle resets compare this. */
  lastInteractionAt: z.number().int().optional(),
  /** The last inference, as the provider counted it. */
  tokens: z.looseObject({ provider: z.string(), model: z.string(), size: tokenSizeSchema }).nullable(),
  /** Sums over the agent's life: provider → model → numbers the provider reported, never estimates. */
  stats: z.record(z.string(), z.record(z.string(), tokenSizeSchema)),
  providerId: z.string().nullable(),
  permissions: permissionsSchema.optional(),
  /** The most tools an agent may have: those of its parent, if it runs under another profile. */
  inheritedTools: z.array(z.string()).optional(),
  /** How the commands of the agent that started it are judged: its own need that consent too. */
  inheritedExec: inheritedExecSchema.optional(),
  /** The profiles of the agents it was started by, if they differ: their rules count too. */
  inheritedProfiles: z.array(z.string()).optional(),
  /** Rules for this agent, in addition to those of the configuration. */
  rules: grantsSchema.optional(),
  /** Tools that it has found in this session, the last one last. */
  foundTools: z.array(z.string()).optional(),
  /** Commands that it has started in the background (M33). They outlive the session. */
  processes: z.array(backgroundProcessSchema).optional(),
  /** Everyone but the agent's own person whose words are in this session (M30). */
  speakers: z.array(z.string()).optional(),
  /** Text that its person did not write is in the context of this session (M32). */
  untrusted: z.literal(true).optional(),
  /** The agent itself was made, or described again, while such text was in context: every session of it begins with the mark. */
  madeUntrusted: z.literal(true).optional(),
  ...sessionEntryFields,
});
export type AgentState = z.infer<typeof agentStateSchema>;

/** Reads a stored state. A newer version is refused: writing it back would lose data. */
export function parseState(value: unknown, where: string): AgentState {
  const version = (value as { version?: unknown } | null)?.version;
  if (typeof version === "number" && version > STATE_VERSION) {
    throw new CorruptDataError(`The state in ${where} has version ${version}; this program knows ${STATE_VERSION}.`, {
      hint: "Use the newer program that wrote it. Nothing was changed.",
    });
  }
  const result = agentStateSchema.safeParse(value);
  if (result.success) return result.data;
  throw new CorruptDataError(`The state in ${where} is not valid: ${z.prettifyError(result.error)}`, {
    hint: "The file was not changed. Restore it from a backup.",
  });
}
