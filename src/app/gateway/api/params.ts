/** Path parameters and query fields that several routes share, and the lookup of the agent or run they name. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { agentFetchStrategySchema } from "../../../core/agent/descriptor.ts";
import { readSessionKey } from "../../../core/agent/key-shape.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { type AgentId, isAgentId, type RunId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import { agentsCalled } from "../../../core/store/agent-names.ts";
import type { Store } from "../../../core/store/store.ts";
import { severalNamed } from "../../../core/typed-name.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { agentsNamed, conversationByKey, severalAgents } from "../messages/address.ts";
import type { Call } from "../routing/route.ts";

export const agentParams = z.object({ agent: z.string().min(1).max(512) });
export const runParams = z.object({ run: z.string().regex(/^[0-9a-f-]{36}$/, "a run's id is a uuid") });

const wholeNumber = (max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "a whole number")
    .transform(Number)
    .pipe(z.int().min(0).max(max));

export const limitQuery = (max: number, byDefault: number) => wholeNumber(max).pipe(z.int().min(1)).default(byDefault);
export const numberQuery = (max: number = Number.MAX_SAFE_INTEGER) => wholeNumber(max).optional();
/** One state, or several with commas between them. */
export const statesQuery = <T extends string>(state: z.ZodType<T, string>) =>
  z
    .string()
    .max(1_000)
    .transform((text) => text.split(","))
    .pipe(z.array(state).min(1))
    .optional();
/** The query of a route that waits. The longest wait is almost 17 minutes. */
export const waitQuery = z.strictObject({ timeoutMs: numberQuery(999_999) });

/** The `next` of a page: a cursor if the page is full, else null. */
export const nextOf = <T, C>(page: readonly T[], limit: number, cursorOf: (last: T) => C): C | null => {
  const last = page.at(-1);
  return last !== undefined && page.length === limit ? cursorOf(last) : null;
};

export type Asking = Pick<Call, "context" | "principal">;

/**
 * By id, by session key, by a strategy (`heartbeat`, `most-recent-foreground`), by the last part of the key, by the name of a
 * permanent agent, and with `byName` by the name that lists show, or with `prefix` by its beginning. Undefined if the token may not see
 * it. Throws if several have the name.
 */
export async function findAgent(
  { context, principal }: Asking,
  name: string,
  { prefix = false, byName = true } = {},
): Promise<AgentRecord | undefined> {
  const { store } = context.ports;
  const config = context.settings.current;
  const strategy = agentFetchStrategySchema.safeParse(name);
  const fetched = strategy.success ? await context.agents.agentFor(strategy.data) : undefined;
  const chosen = fetched && (await store.agent(fetched));
  if (chosen && seesAgent(principal, chosen)) return chosen;
  const [agent, ...others] = (await agentsNamed(store, name, config)).filter((one) => seesAgent(principal, one));
  if (agent && others.length > 0) throw await severalAgents(store, name, [agent, ...others]);
  if (agent) return agent;
  // The key of an API user is another one if the configuration links the user to a person, or an application names it.
  const conversation = conversationByKey(config, principal, name);
  if (conversation) return conversation.sessionKey === name ? undefined : store.agentByKey(conversation.sessionKey);
  // A confined token reaches by a name only what it reaches by a key.
  if (!byName || isConfined(principal) || isAgentId(name) || readSessionKey(name)) return undefined;
  const [found, ...more] = await agentsCalled(store, name, { prefix, sees: (one) => seesAgent(principal, one) });
  if (found && more.length > 0) {
    throw severalNamed(
      name,
      [found, ...more].map((one) => ({ id: one.agent.id, name: one.name })),
    );
  }
  return found?.agent;
}

/** The same. Throws a 404 if there is none or the token may not see it. */
export async function requireAgent(call: Asking, name: string): Promise<AgentRecord> {
  const agent = await findAgent(call, name, { prefix: true });
  if (agent) return agent;
  throw new NotFoundError(`There is no agent "${name.slice(0, 100)}".`, {
    hint: "Run `rookery agents`, or ask GET /api/agents, to see all agents.",
  });
}

/** The address of an existing agent, by id or session key. Throws a 404. */
export const addressOf = async (call: Asking, name: string): Promise<{ readonly agentId: AgentId }> => ({
  agentId: (await requireAgent(call, name)).id,
});

/** Throws a 404 if there is none or the token may not see the run's agent. */
export async function requireRun({ context, principal }: Asking, id: string): Promise<RunRecord> {
  const { store } = context.ports;
  const run = await store.run(id as RunId);
  if (run && (!isConfined(principal) || (await seesAgentOf(principal, store, run.agentId)))) return run;
  throw runNotFound(id);
}

/** Throws a 404 for a token that may not see every run, if it may not see this one. */
export async function assertOwnRun(call: Asking, id: string): Promise<void> {
  if (isConfined(call.principal)) await requireRun(call, id);
}

async function seesAgentOf(principal: Principal, store: Pick<Store, "agent">, id: AgentId): Promise<boolean> {
  const agent = await store.agent(id);
  return agent !== undefined && seesAgent(principal, agent);
}

export const runNotFound = (id: string): NotFoundError => new NotFoundError(`There is no run ${id}.`);
