/** `session_status`: the status of one session: its run, waiting messages, waits, usage and queue settings. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { effectsOn, effectsOnFound } from "./agent-effects.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { findTarget } from "./find-target.ts";
import { jsonOutput } from "./json-output.ts";
import { mayRead } from "./relations.ts";
import { sessionRow } from "./session-row.ts";

const EFFECT = { action: "session_status", rights: [] } as const;

const input = z.strictObject({
  sessionKey: z.string().optional().describe("Whose: a session key, an agent's id or its name. Left out: your own"),
});

export const sessionStatusTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "session_status",
  description: "Shows the status of a session: what it does, what waits, what it has used.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: DEFAULT_MAX_OUTPUT,
  effects: ({ sessionKey }, context) =>
    sessionKey === undefined
      ? []
      : effectsOnFound(deps, context, () => findTarget(deps, context.agent, sessionKey), EFFECT),
  async execute({ sessionKey }, context) {
    const { agent: from } = context;
    const agent = sessionKey === undefined ? from : (await findTarget(deps, from, sessionKey)).agent;
    if (!agent) throw new NotFoundError(`Agent not found: ${sessionKey}`);
    checkAllowed(context, await effectsOn(deps, context, { agent }, EFFECT));
    await mayRead(deps, context, agent);
    return jsonOutput(await statusOf(deps, agent));
  },
});

async function statusOf({ store, clock }: AgentToolDeps, { id }: AgentRecord): Promise<object> {
  const agent = (await store.agent(id)) as AgentRecord;
  const { runId, state, stopped, createdAt } = agent;
  const run = runId && (await store.run(runId));
  const waits = await store.waits({ from: id, limit: 10 });
  const { queueMode, queueDebounceMs, queueCap, queueDrop } = state;
  return {
    ...sessionRow(agent),
    now: clock.now(),
    createdAt,
    run: run
      ? { id: run.id, startedAt: run.startedAt, attempt: run.attempt, iterations: run.body.iterations }
      : undefined,
    waitsFor: waits.length > 0 ? waits.map(({ to, since }) => ({ agentId: to, since })) : undefined,
    stopped,
    tokens: state.tokens,
    stats: state.stats,
    queue: { queueMode, queueDebounceMs, queueCap, queueDrop },
  };
}
