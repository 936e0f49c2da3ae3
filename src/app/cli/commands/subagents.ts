/** `rookery subagents`: lists subagents; inspects, messages, stops or releases one. */

import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { printableJson } from "../../../core/printable.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { describeSubagentRuns, stateOf } from "../../../engine/subagents/describe.ts";
import { findSubagentRun } from "../../../engine/subagents/find.ts";
import { historyLog } from "../../../engine/subagents/history-log.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { findAgent } from "../find-agent.ts";
import { printResult } from "../print.ts";
import { readHome } from "../read-home.ts";

const LOG_LINES = 20;

/** Oldest first: the other actions accept the numbers of this list. */
async function recordsOf(store: StoreReader, requester?: string): Promise<readonly SubagentRunRecord[]> {
  const records = await store.subagentRuns(requester === undefined ? undefined : { requesterSessionKey: requester });
  return records.toSorted((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
}

const list = defineAction({
  summary: "list all subagents, or those of one agent",
  usage: "[agent id or session key]",
  arguments: { min: 0, max: 1 },
  async run(context) {
    const {
      args: [who],
      paths,
    } = context;
    const { config } = await context.loadConfig();
    await readHome(paths, async (store) => {
      const requester =
        who === undefined ? undefined : (await findAgent(store, who, config.session.mainKey)).sessionKey;
      const records = await recordsOf(store, requester);
      const runs = new Map<string, RunRecord>();
      for (const { runId, endedAt } of records) {
        const run = endedAt === undefined ? await store.run(runId as RunId) : undefined;
        if (run) runs.set(runId, run);
      }
      const { systemClock } = await import("../../../adapters/system/system-clock.ts");
      printResult(context, listOf(records), describeSubagentRuns(records, runs, systemClock.now()));
    });
    return undefined;
  },
});

const CHILD = "<number, run id, session key, agent id or label>";

const info = defineAction({
  summary: "show one subagent in detail",
  usage: CHILD,
  arguments: { min: 1, max: 1 },
  async run(context) {
    const {
      args: [who = ""],
      paths,
      json,
      stdout,
    } = context;
    await readHome(paths, async (store) => {
      const record = findSubagentRun(await recordsOf(store), who);
      const run = await store.run(record.runId as RunId);
      const text = JSON.stringify({ ...record, state: stateOf(record, run) }, null, json ? undefined : 2);
      stdout.write(`${printableJson(text)}\n`);
    });
    return undefined;
  },
});

const log = defineAction({
  summary: "show the conversation of a subagent",
  usage: CHILD,
  arguments: { min: 1, max: 1 },
  async run(context) {
    const {
      args: [who = ""],
      paths,
    } = context;
    await readHome(paths, async (store) => {
      const text = await historyLog(store, childId(findSubagentRun(await recordsOf(store), who)), LOG_LINES);
      printResult(context, listOf(text.split("\n")), text);
    });
    return undefined;
  },
});

interface Change {
  readonly done: string;
  readonly method: "POST" | "DELETE";
  readonly below?: string;
}

const change = (summary: string, { done, method, below = "" }: Change, takesText = false) =>
  defineAction({
    summary,
    usage: takesText ? `${CHILD} <text>` : CHILD,
    arguments: takesText ? { min: 2, max: 99 } : { min: 1, max: 1 },
    async run(context) {
      const { args, paths } = context;
      const [who = "", ...words] = args;
      const { runId } = await readHome(paths, async (store) => findSubagentRun(await recordsOf(store), who));
      const path = `/api/subagents/${encodeURIComponent(runId)}${below}`;
      const body = takesText ? { text: words.join(" ") } : undefined;
      await withApi(context, (api) => api.ask({ method, path, body }));
      return printResult(context, { runId }, `Subagent run ${runId} ${done}.`);
    },
  });

export const subagentsCommand: Group = {
  summary: "list subagents; inspect, message, stop or release one",
  actions: {
    list,
    info,
    log,
    send: change(
      "send a message to a subagent",
      { done: "will get the message", method: "POST", below: "/messages" },
      true,
    ),
    stop: change("stop a subagent and all agents it started", { done: "is stopped", method: "POST", below: "/stop" }),
    release: change("forget an ended subagent", { done: "is released", method: "DELETE" }),
  },
  fallback: "list",
};

function childId({ childAgentId, runId }: SubagentRunRecord): AgentId {
  if (childAgentId === undefined) throw new NotFoundError(`The agent of subagent run ${runId} no longer exists.`);
  return childAgentId as AgentId;
}
