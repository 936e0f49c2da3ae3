/** `rookery agents subagents`: lists subagents; inspects, messages, stops or releases one. */

import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { printableJson } from "../../../core/printable.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { RookeryClient } from "../../client/rookery-client.ts";
import { reading, withApi } from "../client/with-api.ts";
import { defineAction, type Group } from "../command.ts";
import { printResult } from "../print.ts";

const LOG_LINES = 20;

/** `agents list` needs none of it. */
const loadFind = () => import("../../../engine/subagents/find.ts");
const loadDescribe = () => import("../../../engine/subagents/describe.ts");

/** Oldest first: the other actions accept the numbers of this list. */
async function recordsOf(rookery: RookeryClient, requester?: string): Promise<readonly SubagentRunRecord[]> {
  const { items: records } = await rookery.subagents.list(requester === undefined ? { all: true } : { requester });
  return records.toSorted((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
}

const list = defineAction({
  summary: "list all subagents, or those of one agent",
  usage: "[agent id, key or name]",
  arguments: { min: 0, max: 1 },
  async run(context) {
    const [who] = context.args;
    await reading(context, async (rookery) => {
      const requester = who === undefined ? undefined : (await rookery.agents.get(who)).sessionKey;
      const records = await recordsOf(rookery, requester);
      const runs = new Map<string, RunRecord>();
      for (const { runId, endedAt } of records) {
        const { run } = endedAt === undefined ? await rookery.subagents.get(runId) : { run: null };
        if (run) runs.set(runId, run);
      }
      const { describeSubagentRuns } = await loadDescribe();
      const { systemClock } = await import("../../../adapters/system/system-clock.ts");
      printResult(context, listOf(records), describeSubagentRuns(records, runs, systemClock.now()));
    });
    return undefined;
  },
});

const CHILD = "<number, run id, session key, agent id or label>";

const show = defineAction({
  summary: "show one subagent in detail",
  usage: CHILD,
  arguments: { min: 1, max: 1 },
  async run(context) {
    const {
      args: [who = ""],
      json,
      stdout,
    } = context;
    const [{ findSubagentRun }, { stateOf }] = await Promise.all([loadFind(), loadDescribe()]);
    await reading(context, async (rookery) => {
      const { runId } = findSubagentRun(await recordsOf(rookery), who);
      const { record, run } = await rookery.subagents.get(runId);
      const text = JSON.stringify({ ...record, state: stateOf(record, run ?? undefined) }, null, json ? undefined : 2);
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
    const { findSubagentRun } = await loadFind();
    const { logOf } = await import("../../../engine/subagents/history-log.ts");
    await reading(context, async (rookery) => {
      const child = childId(findSubagentRun(await recordsOf(rookery), context.args[0] ?? ""));
      const { items } = await rookery.agent(child).history({ limit: LOG_LINES });
      const text = logOf(items.map(({ entry }) => entry));
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
      const [who = "", ...words] = context.args;
      const { findSubagentRun } = await loadFind();
      const record = await reading(context, async (rookery) => findSubagentRun(await recordsOf(rookery), who));
      const { runId } = record;
      const { nameOf } = await loadDescribe();
      const path = `/api/subagents/${encodeURIComponent(runId)}${below}`;
      const body = takesText ? { text: words.join(" ") } : undefined;
      await withApi(context, (api) => api.ask({ method, path, body }));
      return printResult(context, { runId }, `${nameOf(record)} ${done}.`);
    },
  });

export const subagentsGroup: Group = {
  summary: "list subagents; inspect, message, stop or release one",
  actions: {
    list,
    show,
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

function childId({ childAgentId }: SubagentRunRecord): string {
  if (childAgentId === undefined) throw new NotFoundError(`The agent of this subagent no longer exists.`);
  return childAgentId;
}
