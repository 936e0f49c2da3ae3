/** What routes take in paths and queries, and how an agent or a run is found by it. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { GatewayContext } from "../gateway-context.ts";
import { findAgent } from "../openai/address.ts";

export const agentParams = z.object({ agent: z.string().min(1).max(512) });
export const runParams = z.object({ run: z.string().regex(/^[0-9a-f-]{36}$/, "a run's id is a uuid") });

const wholeText = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "a whole number")
    .transform(Number)
    .pipe(z.int().min(0).max(max));

export const limitQuery = (max: number, otherwise: number) => wholeText(max).pipe(z.int().min(1)).default(otherwise);
export const numberQuery = (max: number = Number.MAX_SAFE_INTEGER) => wholeText(max).optional();
/** How long somebody wants to wait, up to some minutes. */
export const waitQuery = z.object({ timeoutMs: numberQuery(999_999) });

/** By id or by session key. */
export async function agentOf(context: GatewayContext, name: string): Promise<AgentRecord> {
  const agent = await findAgent(context.ports.store, name);
  if (agent) return agent;
  throw new NotFoundError(`There is no agent ${name.slice(0, 100)}.`, { hint: "GET /api/agents lists them." });
}

export async function runOf(context: GatewayContext, id: string): Promise<RunRecord> {
  const run = await context.ports.store.run(id as RunId);
  if (run) return run;
  throw new NotFoundError(`There is no run ${id}.`);
}
