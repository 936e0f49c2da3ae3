/** `session_status`: the status of one session: its run, waiting messages, waits, usage and queue settings. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { DeniedError, NotFoundError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { findTarget } from "./find-target.ts";
import { jsonOutput } from "./json-output.ts";
import { mayRead, READ_DENIED } from "./relations.ts";
import { sessionRow } from "./session-row.ts";

const input = z.object({
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
  async execute({ sessionKey }, { agent: from }) {
    const agent = sessionKey === undefined ? from : (await findTarget(deps, from, sessionKey)).agent;
    if (!agent) throw new NotFoundError(`Agent not found: ${sessionKey}`);
    if (!(await mayRead(deps.store, deps.config, from, agent))) throw new DeniedError(READ_DENIED);
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
