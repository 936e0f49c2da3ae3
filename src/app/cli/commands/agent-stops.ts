/** `rookery agents stop|start|remove`: marks that the next start of the program heeds before anything else. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { changeHome } from "../change-home.ts";
import { defineAction } from "../command.ts";
import { findAgent } from "../find-agent.ts";

type Making = (store: Store, agent: AgentRecord, now: number) => Promise<readonly Op[]>;

const action = (summary: string, said: string, ops: Making) =>
  defineAction({
    summary,
    usage: "<agent id or session key>",
    arguments: { min: 1, max: 1 },
    async run({ args: [who = ""], paths, json, stdout, loadConfig }) {
      const { config } = await loadConfig();
      const id = await changeHome(paths, "cli.agents", async (store, now) => {
        const agent = await findAgent(store, who, config.session.mainKey);
        return { ops: await ops(store, agent, now), said: agent.id };
      });
      stdout.write(json ? `${JSON.stringify({ id })}\n` : `${id} ${said}.\n`);
      return undefined;
    },
  });

export const stopAction = action(
  "stop an agent and all it has started",
  "is stopped, with all it has started",
  async (store, { id }, now) => {
    const { stopOps } = await import("../../../engine/subagents/stop.ts");
    return stopOps(store, id, "stopped by a person", now);
  },
);

export const startAction = action("let an agent that was stopped work again", "may work again", async (_, { id }) => [
  { op: "agent.stop", agentId: id, mark: null },
]);

export const removeAction = action(
  "remove an agent that rests, with its history, for ever",
  "is removed",
  async (_, { id, waiting, runId }) => {
    if (waiting > 0 || runId !== undefined) {
      throw new DeniedError(`Agent ${id} is at work.`, {
        hint: "Stop it first and let the program run until it rests.",
      });
    }
    return [{ op: "agent.remove", agentId: id, reason: "removed by a person" }];
  },
);
