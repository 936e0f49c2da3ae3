/**
 * The laws of sessions: a reset goes first and aborts the run, only a stale session ends automatically (M10); a thread
 * begins with its parent's context; a person who went back continues from there.
 */
import type { Message } from "../../../src/core/message/message.ts";
import type { RunRecord } from "../../../src/core/run/run.ts";
import { tokensIn } from "../world/tokens.ts";
import { broken, type Line, parsed, type View, type Violation } from "./audit-view.ts";
import type { ListedAgent } from "./evidence.ts";

/** The time that may pass between a decision and its commit, and until a commit becomes visible. */
const SLACK_MS = 3_000;
/** How long a person's reset may take if no process dies: the run is aborted and ends. */
const RESET_MS = 6_000;
const DAY_MS = 86_400_000;

export function* sessions(view: View): Iterable<Violation> {
  yield* toldInOneSession(view);
  for (const of of view.listed) {
    const lines = of.lines.map(parsed);
    yield* runsInTheirSession(of, lines);
    yield* resetsGoFirst(view, of, lines);
    yield* endsByItself(view, of, lines);
    yield* forks(view, of, lines);
    yield* wentBack(view, of, lines);
  }
}

const isMarker = ({ type }: Line): boolean => type === "start" || type === "reset";

/** Every accepted message reaches the model in one session only, the one it was taken in (M10). */
function* toldInOneSession({ calls, rows, listed }: View): Iterable<Violation> {
  const agentOf = new Map(
    listed.flatMap(({ agent, lines }) =>
      lines.map(parsed).flatMap((line) => (isMarker(line) ? [[line.sessionId ?? "", agent.id] as const] : [])),
    ),
  );
  const toldIn = new Map<string, string>();
  for (const { tokens, sessionId, n } of calls) {
    for (const token of tokens) {
      if (rows.get(token)?.[0]?.of.agent.id !== agentOf.get(sessionId)) continue;
      const before = toldIn.get(token) ?? sessionId;
      if (before !== sessionId)
        yield broken("M10", `${token} is in a request of ${sessionId} (call ${n}), after ${before}`);
      toldIn.set(token, before);
    }
  }
}

/** A run writes into the session it began in (M10). */
function* runsInTheirSession({ agent, runs }: ListedAgent, lines: readonly Line[]): Iterable<Violation> {
  const sessionOf = new Map(runs.map(({ id, sessionId }) => [String(id), sessionId]));
  let current: string | undefined;
  for (const line of lines) {
    if (isMarker(line)) current = line.sessionId;
    const own = sessionOf.get(line.runId ?? "");
    if (own !== undefined && own !== current) {
      yield broken("M10", `${agent.id}: run ${line.runId} of session ${own} wrote into session ${current}`);
    }
  }
}

/** A reset overtakes waiting messages, and a person's reset aborts the run (M10). */
function* resetsGoFirst(
  view: View,
  { agent, messages, runs }: ListedAgent,
  lines: readonly Line[],
): Iterable<Violation> {
  const startOf = new Map(runs.map(({ id, startedAt }) => [String(id), startedAt]));
  for (const { body, seq, acceptedAt, settledAt = 0, state } of messages) {
    if (body.kind !== "reset" || state !== "recorded") continue;
    const where = `${agent.id}: the reset of seq ${seq}`;
    const marker = lines.findIndex(({ type, timestamp }) => type === "reset" && timestamp === settledAt);
    if (marker === -1) {
      yield broken("M10", `${where} left no marker`);
      continue;
    }
    if (view.deaths === 0 && view.paused.length === 0 && settledAt - acceptedAt > RESET_MS) {
      yield broken("M10", `${where} waited ${settledAt - acceptedAt} ms`);
    }
    for (const { runId, seqs = [] } of lines.slice(0, marker)) {
      const late = seqs.find((one) => one > seq);
      if (late !== undefined) yield broken("M10", `${where} was overtaken by seq ${late}`);
      const waited = (startOf.get(runId ?? "") ?? 0) - acceptedAt;
      if (seqs.length > 0 && waited > SLACK_MS)
        yield broken("M10", `${where} waited for seq ${seqs[0]}, taken ${waited} ms later`);
    }
  }
}

/** A person's message never continues a session that should have ended, and no session ends before its time (M10). */
function* endsByItself({ scenario }: View, of: ListedAgent, lines: readonly Line[]): Iterable<Violation> {
  const { agent, messages, runs } = of;
  // An isolated job starts a new session each time.
  if (agent.descriptor.type !== "user") return;
  const byPerson = new Set(messages.filter(({ body }) => body.kind === "reset").map(({ settledAt }) => settledAt));
  for (const [index, marker] of lines.filter(isMarker).entries()) {
    const mine = runs.filter(({ sessionId }) => sessionId === marker.sessionId);
    let last: number | undefined;
    for (const run of mine) {
      const human = humanAt(messages, run);
      if (human !== undefined && last !== undefined && isOver(scenario.reset, last, run.startedAt - SLACK_MS)) {
        yield broken(
          "M10",
          `${agent.id}: run ${run.id} continues a session that had ended: ${run.startedAt - last} ms`,
        );
      }
      last = human ?? last;
    }
    const next = lines.filter(isMarker)[index + 1];
    if (!next || byPerson.has(next.timestamp)) continue;
    if (last === undefined || !isOver(scenario.reset, last, next.timestamp ?? 0)) {
      yield broken("M10", `${agent.id}: session ${next.sessionId} began automatically, before its time`);
    }
  }
}

const humanAt = (messages: readonly Message[], { body }: RunRecord): number | undefined =>
  messages
    .filter(({ seq, body: { kind } }) => kind === "user" && body.seqs.includes(seq))
    .map(({ acceptedAt }) => acceptedAt)
    .sort((a, b) => b - a)[0];

function isOver(reset: View["scenario"]["reset"], last: number, now: number): boolean {
  if (!reset) return false;
  const { mode, idleMinutes = 60, atHour = 4 } = reset;
  if (mode !== "daily" && now - last > idleMinutes * 60_000) return true;
  const day = (time: number): number => Math.floor((time - atHour * 3_600_000) / DAY_MS);
  return mode !== "idle" && day(now) > day(last);
}

/** A thread begins with its parent's context up to the end of a run, and includes everything well before the fork. */
function* forks({ listed }: View, { agent, lines: _ }: ListedAgent, lines: readonly Line[]): Iterable<Violation> {
  const { descriptor: thread, createdAt } = agent;
  if (thread.type !== "user" || thread.threadId === undefined) return;
  const parent = listed.find(
    ({ agent: { descriptor: other } }) =>
      other.type === "user" &&
      other.threadId === undefined &&
      other.connector === thread.connector &&
      other.userId === thread.userId,
  );
  if (!parent) return;
  const from = lines[0]?.parentSession;
  if (from === undefined) {
    if (parent.agent.createdAt < createdAt - SLACK_MS) yield broken("fork", `${agent.id} has no context of its parent`);
    return;
  }
  const all = parent.lines.map(parsed);
  const begins = all.findIndex((line) => isMarker(line) && line.sessionId === from);
  const said = all.slice(begins + 1).filter(({ type }) => type === "message");
  const copied = lines.filter(
    ({ type, runId, seqs }) => type === "message" && runId === undefined && seqs === undefined,
  );
  const same = copied.every((line, index) => JSON.stringify(line.content) === JSON.stringify(said[index]?.content));
  if (!same) yield broken("fork", `${agent.id} does not begin with its parent's context`);
  const [last, next] = [said[copied.length - 1], said[copied.length]];
  if (last?.runId !== undefined && last.runId === next?.runId) {
    yield broken("fork", `${agent.id} begins in the middle of its parent's run ${last.runId}`);
  }
  const endOf = new Map(parent.runs.map(({ id, endedAt }) => [String(id), endedAt]));
  const missing = said
    .slice(copied.length)
    .find(({ runId }) => (endOf.get(runId ?? "") ?? createdAt) < createdAt - SLACK_MS);
  if (missing) yield broken("fork", `${agent.id} does not contain its parent's run ${missing.runId}`);
}

/** After going back the next request is the path to that entry, with its summary once. */
function* wentBack(
  { calls, rows }: View,
  { agent, messages, runs }: ListedAgent,
  lines: readonly Line[],
): Iterable<Violation> {
  const moves = messages.filter(
    ({ settledAt, body: { kind } }) => (kind === "branch" || kind === "reset") && settledAt,
  );
  for (const { body, reason, settledAt = 0 } of moves) {
    if (body.kind !== "branch" || !/^went back/iu.test(reason ?? "")) continue;
    const where = `${agent.id}: back to ${body.entryId}`;
    const summaries = lines.filter(({ type, summary }) => type === "branch_summary" && summary === body.summary);
    if (body.summary !== undefined && (summaries.length !== 1 || summaries[0]?.parentId !== body.entryId)) {
      yield broken("branch", `${where} is in history ${summaries.length} times`);
    }
    const nextMove = moves.find((other) => (other.settledAt ?? 0) > settledAt)?.settledAt ?? Number.POSITIVE_INFINITY;
    const run = runs.find(({ startedAt }) => startedAt >= settledAt);
    const tip = body.summary === undefined ? body.entryId : summaries[0]?.id;
    if (!run && nextMove === Number.POSITIVE_INFINITY && agent.leaf !== tip) {
      yield broken("branch", `${where} left the leaf at ${agent.leaf}`);
    }
    if (!run || run.startedAt >= nextMove) continue;
    const tokens = [...rows].flatMap(([token, found]) =>
      found.some(({ of, message }) => of.agent.id === agent.id && run.body.seqs.includes(message.seq)) ? [token] : [],
    );
    const call = calls.find(({ fresh }) => tokens.some((token) => fresh.includes(token)));
    const wanted = marksOnTheWay(lines, body.entryId);
    if (!call || (call.context.size === wanted.size && [...wanted].every((mark) => call.context.has(mark)))) continue;
    yield broken(
      "branch",
      `${where}: call ${call.n} knew ${[...call.context].join(" ")}, not ${[...wanted].join(" ")}`,
    );
  }
}

function marksOnTheWay(lines: readonly Line[], from: string): ReadonlySet<string> {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const marks = new Set<string>();
  for (let at = byId.get(from); at && !isMarker(at); at = byId.get(at.parentId ?? "-")) {
    if (at.role !== "assistant") continue;
    for (const block of at.content ?? []) {
      if (block.type === "toolCall" && block.id) marks.add(block.id);
      for (const mark of tokensIn(block.text ?? "", "r")) marks.add(mark);
    }
  }
  return marks;
}
