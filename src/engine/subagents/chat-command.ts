/**
 * `/subagents`, typed by a person: lists, stops or messages the children of the agent they write to. Acts only on the children
 * of this conversation. Its changes are committed together with its answer.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { errorText, InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunRecord } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { describeSubagentRuns, nameOf, stateOf } from "./describe.ts";
import { findSubagentRun } from "./find.ts";
import { historyLog } from "./history-log.ts";
import type { Subagents } from "./subagents.ts";

const SUBAGENTS_USAGE = [
  "⚙️ Usage: /subagents <list|stop|log|send|info>",
  "- /subagents list",
  "- /subagents stop <id|#|all>",
  "- /subagents log <id|#> [limit]",
  "- /subagents send <id|#> <message>",
  "- /subagents info <id|#>",
].join("\n");

const LOG_LINES = 20;
const MAX_LOG_LINES = 200;

interface CommandAnswer {
  readonly text: string;
  readonly ops: readonly Op[];
}

const answer = (text: string, ops: readonly Op[] = []): CommandAnswer => ({ text, ops });
const usage = (of: string): CommandAnswer => answer(`⚙️ Usage: /subagents ${of}`);

/** `typed`: the text after `/subagents`. An unknown child or word gets an answer too. */
export async function answerSubagentsCommand(
  ports: Pick<Ports, "store" | "clock">,
  subagents: Subagents,
  agent: AgentRecord,
  typed: string,
): Promise<CommandAnswer> {
  const [action = "list", who, ...rest] = typed.trim().split(/\s+/u).filter(Boolean);
  const records = await subagents.list(agent.sessionKey);
  try {
    switch (action.toLowerCase()) {
      case "list":
        return answer(describeSubagentRuns(records, await runsOf(ports, records), ports.clock.now()));
      case "stop":
        return who === undefined ? usage("stop <id|#|all>") : await stop(subagents, records, who);
      case "log":
        return who === undefined ? usage("log <id|#> [limit]") : await log(ports, records, who, rest[0]);
      case "send": {
        const text = typed.trim().replace(/^\S+\s+\S+\s*/u, "");
        if (who === undefined || text === "") return usage("send <id|#> <message>");
        const record = findSubagentRun(records, who);
        return answer(`⚙️ Sent to ${nameOf(record)}.`, await subagents.sendOps(record.runId, text, undefined));
      }
      case "info":
        return who === undefined ? usage("info <id|#>") : await info(subagents, findSubagentRun(records, who));
      default:
        return answer(SUBAGENTS_USAGE);
    }
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof InvalidInputError) return answer(`⚙️ ${errorText(error)}`);
    throw error;
  }
}

async function stop(subagents: Subagents, records: readonly SubagentRunRecord[], who: string): Promise<CommandAnswer> {
  const all = who.toLowerCase() === "all";
  const chosen = (all ? records : [findSubagentRun(records, who)]).filter(({ endedAt }) => endedAt === undefined);
  const [first] = chosen;
  if (!first) return answer(all ? "⚙️ No children are at work." : "⚙️ That child has ended already.");
  const ops = await Promise.all(chosen.map(({ runId }) => subagents.stopRunOps(runId, "stopped by a person")));
  const name = all ? `${chosen.length} sub-agent${chosen.length === 1 ? "" : "s"}` : nameOf(first);
  return answer(`⚙️ Stop requested for ${name}.`, ops.flat());
}

async function log(
  { store }: Pick<Ports, "store">,
  records: readonly SubagentRunRecord[],
  who: string,
  limit: string | undefined,
): Promise<CommandAnswer> {
  const record = findSubagentRun(records, who);
  const { childAgentId } = record;
  const lines = Math.min(MAX_LOG_LINES, Math.max(1, Math.floor(Number(limit)) || LOG_LINES));
  const child = childAgentId === undefined ? undefined : await store.agent(childAgentId as AgentRecord["id"]);
  return answer(
    `⚙️ ${nameOf(record)}:\n${child ? await historyLog(store, child.id, lines) : "Its history was removed."}`,
  );
}

async function info(subagents: Subagents, record: SubagentRunRecord): Promise<CommandAnswer> {
  const { run, child } = await subagents.info(record.runId);
  const { runId, label, task, childSessionKey, createdAt, startedAt, endedAt, cleanup } = record;
  const time = (at: number | undefined): string => (at === undefined ? "n/a" : new Date(at).toISOString());
  const rows: readonly (readonly [string, string])[] = [
    ["Status", stateOf(record, run)],
    ["Label", label || "none"],
    ["Task", task],
    ["Run", runId],
    ["Session", childSessionKey],
    ["Created", time(createdAt)],
    ["Started", time(startedAt)],
    ["Ended", time(endedAt)],
    ["Cleanup", cleanup],
    ["Waiting", String(child?.waiting ?? 0)],
  ];
  return answer(`⚙️ Subagent\n${rows.map(([name, value]) => `${name}: ${value}`).join("\n")}`);
}

async function runsOf(
  { store }: Pick<Ports, "store">,
  records: readonly SubagentRunRecord[],
): Promise<ReadonlyMap<string, RunRecord>> {
  const open = records.filter(({ endedAt }) => endedAt === undefined);
  const runs = await Promise.all(open.map(({ runId }) => store.run(runId as RunId)));
  return new Map(runs.flatMap((run) => (run ? [[String(run.id), run] as const] : [])));
}
