/** `rookery agents stop|start|remove`: marks an agent. The engine that runs applies the mark at once, else the next one. */
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { printResult } from "../print.ts";

type Act = (context: CommandContext, agent: string) => Promise<unknown>;

const action = (summary: string, done: string, act: Act) =>
  defineAction({
    summary,
    usage: "<agent id, key or name>",
    arguments: { min: 1, max: 1 },
    async run(context) {
      const answer = await act(context, encodeURIComponent(context.args[0] ?? ""));
      const [id] = Object.values(answer as Record<string, string>);
      return printResult(context, { id }, `Agent ${id} ${done}.`);
    },
  });

export const stopAction = action(
  "stop an agent and all agents it started",
  "is stopped, with all agents it started",
  (context, agent) => withApi(context, (api) => api.ask({ method: "POST", path: `/api/agents/${agent}/stop-tree` })),
);

export const startAction = action("let a stopped agent work again", "can work again", (context, agent) =>
  withApi(context, (api) => api.ask({ method: "POST", path: `/api/agents/${agent}/start` })),
);

export const resetAction = action(
  "start a new session; the history before it stays",
  "starts a new session",
  (context, agent) => withApi(context, (api) => api.ask({ method: "POST", path: `/api/agents/${agent}/reset` })),
);

export const removeAction = action("remove an idle agent and its history for good", "is removed", (context, agent) =>
  withApi(context, (api) => api.ask({ method: "DELETE", path: `/api/agents/${agent}?idle=true` })),
);
