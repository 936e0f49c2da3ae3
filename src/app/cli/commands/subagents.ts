/** `rookery subagents`: the children agents have started, what each is at, and how to tell, stop and release one. */

import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import { DeniedError, NotFoundError } from "../../../core/errors.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { describeSubagentRuns, stateOf } from "../../../engine/subagents/describe.ts";
import { findSubagentRun } from "../../../engine/subagents/find.ts";
import { historyLog } from "../../../engine/subagents/history-log.ts";
import { stopOps } from "../../../engine/subagents/stop.ts";
import { changeHome } from "../change-home.ts";
import { defineAction, type Group } from "../command.ts";
import { findAgent } from "../find-agent.ts";
import { readHome } from "../read-home.ts";

const LOG_LINES = 20;

/** Oldest first: the numbers of the list are what the other actions understand. */
async function recordsOf(store: StoreReader, requester?: string): Promise<readonly SubagentRunRecord[]> {
  const records = await store.subagentRuns(requester === undefined ? undefined : { requesterSessionKey: requester });
  return records.toSorted((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
}

const list = defineAction({
  summary: "list children: all, or those of one agent",
  usage: "[agent id or session key]",
  arguments: { min: 0, max: 1 },
  async run({ args: [who], paths, json, stdout, loadConfig }) {
    const { config } = await loadConfig();
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
      stdout.write(
        json ? `${JSON.stringify(records)}\n` : `${describeSubagentRuns(records, runs, systemClock.now())}\n`,
      );
    });
    return undefined;
  },
});

const CHILD = "<number, run id, session key, agent id or label>";

const info = defineAction({
  summary: "show everything about one child",
  usage: CHILD,
  arguments: { min: 1, max: 1 },
  async run({ args: [who = ""], paths, stdout }) {
    await readHome(paths, async (store) => {
      const record = findSubagentRun(await recordsOf(store), who);
      const run = await store.run(record.runId as RunId);
      stdout.write(`${JSON.stringify({ ...record, state: stateOf(record, run) }, null, 2)}\n`);
    });
    return undefined;
  },
});

const log = defineAction({
  summary: "show what a child was told and has said",
  usage: CHILD,
  arguments: { min: 1, max: 1 },
  async run({ args: [who = ""], paths, json, stdout }) {
    await readHome(paths, async (store) => {
      const text = await historyLog(store, childId(findSubagentRun(await recordsOf(store), who)), LOG_LINES);
      stdout.write(json ? `${JSON.stringify({ log: text.split("\n") })}\n` : `${text}\n`);
    });
    return undefined;
  },
});

const change = (
  summary: string,
  said: string,
  usage: string,
  ops: (store: StoreReader, record: SubagentRunRecord, now: number, text: string) => Promise<readonly Op[]>,
) =>
  defineAction({
    summary,
    usage,
    arguments: { min: usage === CHILD ? 1 : 2, max: usage === CHILD ? 1 : 99 },
    async run({ args: [who = "", ...words], paths, json, stdout }) {
      const runId = await changeHome(paths, "cli.subagents", async (store, now) => {
        const record = findSubagentRun(await recordsOf(store), who);
        return { ops: await ops(store, record, now, words.join(" ")), said: record.runId };
      });
      stdout.write(json ? `${JSON.stringify({ runId })}\n` : `Child run ${runId} ${said}.\n`);
      return undefined;
    },
  });

export const subagentsCommand: Group = {
  summary: "list the children agents have started; inspect, tell, stop and release one",
  description: "What is changed here is heeded when the program next starts; while it runs, agents use their own tool.",
  actions: {
    list,
    info,
    log,
    send: change("say something to a child", "will be told", `${CHILD} <text>`, async (_, record, now, text) => [
      {
        op: "message.post",
        to: { agentId: childId(record) },
        message: { body: { kind: "system", text }, acceptedAt: now },
      },
    ]),
    stop: change("stop a child and all it has started", "is stopped", CHILD, (store, record, now) =>
      stopOps(store, childId(record), "stopped by a person", now),
    ),
    release: change("forget a child that has ended", "is released", CHILD, async (_, { runId, endedAt }) => {
      if (endedAt === undefined) {
        throw new DeniedError(`Child run ${runId} is at work and still owes its report.`, { hint: "Stop it first." });
      }
      return [{ op: "subagent.remove", runId }];
    }),
  },
  fallback: "list",
};

function childId({ childAgentId, runId }: SubagentRunRecord): AgentId {
  if (childAgentId === undefined) throw new NotFoundError(`Nobody knows the agent of child run ${runId}.`);
  return childAgentId as AgentId;
}
