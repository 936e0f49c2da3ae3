/** `rookery agents stop|start|remove`: marks an agent. The engine that runs applies the mark at once, else the next one. */

import type { AgentSummary } from "../../client/resources.ts";
import { type Api, withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";

type Act = (agent: string) => Parameters<Api["ask"]>[0];

const action = (summary: string, done: string, act: Act) =>
  defineAction({
    summary,
    usage: "<agent id, key or name>",
    arguments: { min: 1, max: 1 },
    async run(context) {
      const path = `/api/agents/${encodeURIComponent(context.args[0] ?? "")}`;
      const { id, name } = await withApi(context, async (api) => {
        const agent = (await api.ask({ method: "GET", path })) as AgentSummary;
        await api.ask(act(`/api/agents/${agent.id}`));
        return agent;
      });
      return printResult(context, { id }, `${oneLine(name, 80)} ${done}.`);
    },
  });

export const stopAction = action(
  "stop an agent and all agents it started",
  "is stopped, with all agents it started",
  (agent) => ({ method: "POST", path: `${agent}/stop-tree` }),
);

export const startAction = action("let a stopped agent work again", "can work again", (agent) => ({
  method: "POST",
  path: `${agent}/start`,
}));

export const resetAction = action(
  "start a new session; the history before it stays",
  "starts a new session",
  (agent) => ({ method: "POST", path: `${agent}/reset` }),
);

export const removeAction = action("remove an idle agent and its history for good", "is removed", (agent) => ({
  method: "DELETE",
  path: `${agent}?idle=true`,
}));
