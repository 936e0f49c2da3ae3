/** `rookery subagents`: lists subagents; inspects, messages, stops or releases one. */

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

/** Oldest first: the other actions accept the numbers of this list. */
async function recordsOf(store: StoreReader, requester?: string): Promise<readonly SubagentRunRecord[]> {
  const records = await store.subagentRuns(requester === undefined ? undefined : { requesterSessionKey: requester });
  return records.toSorted((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
}

const list = defineAction({
  summary: "list all subagents, or those of one agent",
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
  summary: "show one subagent in detail",
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
  summary: "show the conversation of a subagent",
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
  done: string,
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
        return { ops: await ops(store, record, now, words.join(" ")), result: record.runId };
      });
      stdout.write(json ? `${JSON.stringify({ runId })}\n` : `Subagent run ${runId} ${done}.\n`);
      return undefined;
    },
  });

export const subagentsCommand: Group = {
  summary: "list subagents; inspect, message, stop or release one",
  description:
    "Changes take effect when a node next starts. While a node runs, ask the agent to use its subagents tool.",
  actions: {
    list,
    info,
    log,
    send: change(
      "send a message to a subagent",
      "will get the message",
      `${CHILD} <text>`,
      async (_, record, now, text) => [
        {
          op: "message.post",
          to: { agentId: childId(record) },
          message: { body: { kind: "system", text }, acceptedAt: now },
        },
      ],
    ),
    stop: change("stop a subagent and all agents it started", "is stopped", CHILD, (store, record, now) =>
      stopOps(store, childId(record), "stopped by a person", now),
    ),
    release: change("forget an ended subagent", "is released", CHILD, async (_, { runId, endedAt }) => {
      if (endedAt === undefined) {
        throw new DeniedError(`Subagent run ${runId} is active and has not reported yet.`, { hint: "Stop it first." });
      }
      return [{ op: "subagent.remove", runId }];
    }),
  },
  fallback: "list",
};

function childId({ childAgentId, runId }: SubagentRunRecord): AgentId {
  if (childAgentId === undefined) throw new NotFoundError(`The agent of subagent run ${runId} no longer exists.`);
  return childAgentId as AgentId;
}
