/** `rookery agents stop|start|remove`: marks an agent. The next node that starts applies the mark before it does any work. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { changeHome } from "../change-home.ts";
import { defineAction } from "../command.ts";
import { findAgent } from "../find-agent.ts";

type OpsOf = (store: Store, agent: AgentRecord, now: number) => Promise<readonly Op[]>;

const action = (summary: string, done: string, ops: OpsOf) =>
  defineAction({
    summary,
    usage: "<agent id or session key>",
    arguments: { min: 1, max: 1 },
    async run({ args: [who = ""], paths, json, stdout, loadConfig }) {
      const { config } = await loadConfig();
      const id = await changeHome(paths, "cli.agents", async (store, now) => {
        const agent = await findAgent(store, who, config.session.mainKey);
        return { ops: await ops(store, agent, now), result: agent.id };
      });
      stdout.write(json ? `${JSON.stringify({ id })}\n` : `Agent ${id} ${done}.\n`);
      return undefined;
    },
  });

export const stopAction = action(
  "stop an agent and all agents it started",
  "is stopped, with all agents it started",
  async (store, { id }, now) => {
    const { stopOps } = await import("../../../engine/subagents/stop.ts");
    return stopOps(store, id, "stopped by a person", now);
  },
);

export const startAction = action("let a stopped agent work again", "can work again", async (_, { id }) => [
  { op: "agent.stop", agentId: id, mark: null },
]);

export const removeAction = action(
  "remove an idle agent and its history for good",
  "is removed",
  async (_, { id, waiting, runId }) => {
    if (waiting > 0 || runId !== undefined) {
      throw new DeniedError(`Agent ${id} still has work.`, {
        hint: "Stop it first, then run a node until the agent is idle.",
      });
    }
    return [{ op: "agent.remove", agentId: id, reason: "removed by a person" }];
  },
);
