/** The laws of runs: one live run per agent (L3), tools (L4), aborts (M9), attempts (M13). */

import type { RunRecord } from "../../../src/core/run/run.ts";
import { idOfProvider, type ModelCall } from "../world/model-call.ts";
import { tokensIn } from "../world/tokens.ts";
import {
  broken,
  FATAL,
  isAnswer,
  type Line,
  overBudget,
  pairs,
  parsed,
  type View,
  type Violation,
  WALL,
} from "./audit-view.ts";

export function* runs(view: View): Iterable<Violation> {
  yield* oneLiveRun(view);
  yield* noToolRepeated(view);
  yield* endsAsAsked(view);
  yield* failuresHaveCauses(view);
  yield* settledInTime(view);
  yield* nothingWithoutLease(view);
}

/** The model call of a kept result had every earlier kept result of its session in its context (L3). Judged by commits. */
function* oneLiveRun({ listed, calls, branches }: View): Iterable<Violation> {
  // Only a person who goes back may cause a fork in a history; two concurrent runs would cause one too.
  const back = new Set(branches.map(({ agentId }) => agentId));
  const byMark = new Map<string, ModelCall>();
  for (const call of calls) for (const mark of [call.answer ?? "", ...call.asked]) byMark.set(mark, call);
  for (const { agent, lines, runs: all } of listed) {
    let before: ReadonlySet<string> = new Set();
    const ways = back.has(agent.id) ? branchesOf : (session: readonly Line[]) => [session];
    for (const session of sessionsOf(lines.map(parsed)).flatMap(ways)) {
      if (session[0]?.type !== "compaction") before = new Set();
      const kept = session.flatMap((line) => callOf(byMark, line));
      for (const [a, b] of pairs(kept)) {
        if (marksOf(a).every((mark) => b.context.has(mark))) continue;
        yield broken(
          "L3",
          `${agent.id}: model call ${b.n} (${b.process}) did not contain the answer of call ${a.n} (${a.process})`,
        );
      }
      // Entries that a compaction kept from the same session are known too.
      const own = new Set([...before, ...kept.flatMap(marksOf)]);
      before = own;
      for (const { n, process, context } of kept) {
        const stranger = [...context].find((mark) => !own.has(mark));
        if (stranger)
          yield broken("L3", `${agent.id}: model call ${n} (${process}) knew ${stranger} of another session`);
      }
    }
    const open = all.filter(({ state }) => state === "open");
    if (open.length > 1) yield broken("L3", `${agent.id} has ${open.length} open runs`);
  }
}

const marksOf = ({ answer, asked }: ModelCall): readonly string[] => (answer === undefined ? asked : [answer]);

/** The lines of each session, between two markers. A compaction begins a new context too. */
function sessionsOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const sessions: Line[][] = [[]];
  for (const line of lines) {
    if (line.type === "start" || line.type === "reset" || line.type === "compaction") sessions.push([]);
    sessions.at(-1)?.push(line);
  }
  return sessions;
}

/** If a person went back, each path from the beginning to a tip is checked separately. */
function branchesOf(session: readonly Line[]): readonly (readonly Line[])[] {
  const parents = new Set(session.map(({ parentId }) => parentId));
  const tips = session.filter(({ id }) => id !== undefined && !parents.has(id));
  if (tips.length < 2) return [session];
  const byId = new Map(session.map((line) => [line.id, line]));
  return tips.map((tip) => {
    const way: Line[] = [];
    for (let at: Line | undefined = tip; at; at = byId.get(at.parentId ?? "-")) way.push(at);
    return way.reverse();
  });
}

/** The model call that produced an assistant's line in history. A silent answer has no mark. */
function callOf(byMark: ReadonlyMap<string, ModelCall>, { role, content }: Line): readonly ModelCall[] {
  if (role !== "assistant") return [];
  const marks = (content ?? []).flatMap((block) =>
    block.type === "toolCall" ? [idOfProvider(block.id ?? "")] : tokensIn(block.text ?? "", "r"),
  );
  const call = byMark.get(marks[0] ?? "-");
  return call ? [call] : [];
}

/** A tool that must not be repeated started once, and every call in history has its outcome there (L4). */
function* noToolRepeated({ executions, listed }: View): Iterable<Violation> {
  const started = new Map<string, number>();
  for (const { replay, tool, token } of executions) {
    if (replay === "never") started.set(`${tool} for ${token}`, (started.get(`${tool} for ${token}`) ?? 0) + 1);
  }
  for (const [what, times] of started) if (times > 1) yield broken("L4", `${what} was executed ${times} times`);
  // A call is known by its run and id: two calls never share them.
  const keys = new Map<string, string>();
  for (const { runId, callId, tool, token } of executions) {
    const what = `${tool} for ${token}`;
    const other = keys.get(`${runId} ${callId}`) ?? what;
    if (other !== what) yield broken("L4", `${other} and ${what} have the same id ${callId} in run ${runId}`);
    keys.set(`${runId} ${callId}`, what);
  }
  for (const { agent, lines } of listed) {
    const asked = new Set<string>();
    for (const entry of lines.map(parsed)) {
      for (const block of entry.content ?? []) if (block.type === "toolCall" && block.id) asked.add(block.id);
      if (entry.role === "tool" && entry.toolCallId) asked.delete(entry.toolCallId);
    }
    for (const id of asked) yield broken("L4", `${agent.id}: call ${id} has no outcome in history`);
  }
}

/** A run whose abort was confirmed ends as aborted and answers nothing; a "no" means that it was over (M9). */
function* endsAsAsked({ aborts, listed, workload, scenario, removed }: View): Iterable<Violation> {
  const runOf = new Map(
    listed.flatMap(({ runs: all, deliveries }) => all.map((run) => [String(run.id), { run, deliveries }])),
  );
  for (const { runId, endedBefore, answer, overByThen } of aborts) {
    const found = runOf.get(runId);
    if (answer === true && endedBefore) yield broken("M9", `run ${runId} had ended, but its abort was confirmed`);
    if (answer === false && !overByThen) yield broken("M9", `run ${runId} was reported as over but was not`);
    if (answer !== true || !found) continue;
    if (found.run.outcome !== "aborted") yield broken("M9", `run ${runId} was aborted but ended ${found.run.outcome}`);
    const said = found.deliveries.filter((delivery) => delivery.runId === runId && isAnswer(delivery));
    for (const { id } of said) yield broken("M9", `run ${runId} was aborted but answered with ${id}`);
  }
  // A command aborts runs, and so does a message that interrupts.
  const commanded =
    scenario.queue?.mode === "interrupt" ||
    scenario.treeStops !== undefined ||
    scenario.removals !== undefined ||
    workload.items.some(({ kind }) => kind === "command");
  const asked = new Set(aborts.map(({ runId }) => runId));
  for (const { run } of commanded ? [] : runOf.values()) {
    // Removing an agent for good aborts its run.
    if (removed.includes(run.agentId)) continue;
    if (run.outcome === "aborted" && !asked.has(run.id))
      yield broken("M9", `run ${run.id} was aborted without a request`);
  }
}

/**
 * A node that cannot renew its lease begins nothing after the lease has ended (M23). A paused node could not know this; the
 * checks of model calls and tools judge it.
 */
function* nothingWithoutLease({ calls, summaries, executions, leases, leaseMs, paused }: View): Iterable<Violation> {
  const begun = [
    ...summaries.map(({ n, process, startedAt }) => ({ what: `summary ${n}`, process, startedAt })),
    ...calls.map(({ n, process, startedAt }) => ({ what: `model call ${n}`, process, startedAt })),
    ...executions.map(({ tool, token, process, startedAt }) => ({ what: `${tool} for ${token}`, process, startedAt })),
  ];
  for (const { what, process, startedAt } of begun) {
    const began = leases.get(process)?.findLast((at) => at <= startedAt);
    if (began === undefined || paused.includes(process) || startedAt - began <= leaseMs) continue;
    yield broken("M23", `${process} began ${what} ${startedAt - began - leaseMs} ms after its lease had ended`);
  }
}

/** Trials delay no message for longer than the scenario allows, and those of agents without an interrupted run least (M13). */
function* settledInTime({ rows, scenario: { settledWithinMs = {} } }: View): Iterable<Violation> {
  const { all = Number.POSITIVE_INFINITY, uninterrupted = all } = settledWithinMs;
  for (const [token, found] of rows) {
    for (const { of, message } of found) {
      const isInterrupted = of.runs.some(({ body }) => body.commits?.some(({ site }) => site === "resume"));
      const took = (message.settledAt ?? Number.POSITIVE_INFINITY) - message.acceptedAt;
      if (took > (isInterrupted ? all : uninterrupted))
        yield broken("M13", `${token} took ${took} ms until it was settled`);
    }
  }
}

/** Whether a model that summarises slowly took at least half of a run's time. */
function waitedForSummaries(
  { sessionId, startedAt, endedAt = startedAt }: RunRecord,
  summaries: View["summaries"],
): boolean {
  const own = summaries.filter((one) => one.sessionId === sessionId && one.startedAt + WALL >= startedAt);
  const took = own.reduce((sum, one) => sum + ((one.endedAt ?? one.startedAt) - one.startedAt), 0);
  return took >= (endedAt - startedAt) / 2;
}

/** Two crashes make a run a suspect, and three deaths alone on trial fail it (M13). */
const KILLS_ALONE = 2 + 3;

/**
 * A run fails only because one of its own messages asked for it, no matter how often its nodes died (M13). A run that kills its node
 * each time fails too, after a number of kills that grows with the logarithm of the runs it may have been open with.
 */
function* failuresHaveCauses({
  listed,
  rows,
  directives,
  executions,
  summaries,
  deaths,
  scenario,
}: View): Iterable<Violation> {
  const fails = (token: string): boolean =>
    [...FATAL, "unhandled" as const].some((fatal) => directives.get(token)?.includes(fatal));
  // Messages that a run took together have one outcome, and a run may also act on a message whose own run was aborted.
  const failing = new Set<string | undefined>(
    executions.flatMap(({ tool, runId }) => (tool === "sim_poison" ? [runId] : [])),
  );
  for (const [token, found] of rows) if (fails(token)) for (const { message } of found) failing.add(message.runId);
  failing.delete(undefined);
  for (const [token, found] of rows) {
    for (const { of, message } of found) {
      // If a context is too large, a run may end for that reason; the person gets a delivery that reports it.
      const isTooLarge = message.reason?.startsWith("Context overflow") ?? false;
      const tooLarge = scenario.context !== undefined && isTooLarge && !scenario.context.fits;
      if (isTooLarge && scenario.context?.fits) yield broken("L10", `${token} failed although each entry fits`);
      const discarded = scenario.restore === "discard" && deaths > 0;
      const run = of.runs.find(({ id }) => id === message.runId);
      const waited = message.reason?.startsWith("The run took longer") && run && waitedForSummaries(run, summaries);
      const excused =
        waited || tooLarge || fails(token) || failing.has(message.runId) || overBudget({ of, message }) || discarded;
      if (message.state === "failed" && !excused) {
        yield broken("M13", `${token} failed without its own fault: ${message.reason}`);
      }
      if (message.state === "answered" && directives.get(token)?.includes("tool:poison")) {
        yield broken("M13", `${token} kills its node each time, but was answered`);
      }
    }
  }
  const poison = executions.filter(({ tool }) => tool === "sim_poison");
  const killers = new Set(poison.map(({ runId }) => runId)).size;
  // Several killers split each other's groups unevenly.
  const halvings = Math.ceil(Math.log2(listed.length + 1)) * (killers > 1 ? 2 : 1);
  // A death for another reason makes one void, and the run is tried in a group once more.
  const most = KILLS_ALONE + halvings + 2 * Math.max(0, deaths - poison.length);
  for (const { runs: all } of listed) {
    for (const { id, outcome, body } of all) {
      const times = poison.filter(({ runId }) => runId === id).length;
      if (times > most) yield broken("M13", `run ${id} was allowed to kill its node ${times} times`);
      if (outcome === "error" && body.error === undefined) yield broken("M13", `run ${id} failed without a reason`);
    }
  }
}
