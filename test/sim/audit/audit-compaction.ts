/**
 * Compaction loses no entry, covers each message once and without a gap, makes contexts smaller, and takes each measure at most once
 * between two answers of a run (L10). Judged from the listing and the requests to the model.
 */
import { broken, type Line, pairs, parsed, type View, type Violation } from "./audit-view.ts";

interface CompactionLine extends Line {
  readonly firstKeptEntryId: string;
  readonly summary: string;
  readonly tokensBefore: number;
  readonly details: {
    readonly kind: string;
    readonly reason: string;
    readonly tokensAfter: number;
    readonly runId?: string;
    readonly covered?: { readonly from: string; readonly through: string };
  };
}

export function* compaction(view: View): Iterable<Violation> {
  for (const { agent, lines, runs } of view.listed) {
    const all = lines.map(parsed);
    const is = (what: string): Violation => broken("L10", `${agent.id}: ${what}`);
    for (const session of sessionsOf(all)) yield* ofSession(session, is);
    yield* onceBetweenAnswers(all, is);
    const summaries = view.summaries.length;
    const bound = 30 * (runs.length + all.length + 1);
    if (summaries > 100 * bound) yield is(`${summaries} summaries were requested`);
  }
  yield* nothingLost(view);
  yield* paidOnce(view);
}

/** A program asks for one summary of a session at a time (M15). A run that needs one waits for the one in progress. */
function* paidOnce({ summaries }: View): Iterable<Violation> {
  const open = new Map<string, (typeof summaries)[number]>();
  for (const summary of summaries) {
    const key = `${summary.process} ${summary.sessionId}`;
    const before = open.get(key);
    if (before && (before.endedAt === undefined || before.endedAt > summary.startedAt))
      yield broken("M15", `summary ${summary.n} (${key}) began while summary ${before.n} was being written`);
    open.set(key, summary);
  }
}

/** Between two answers of a run each measure is taken at most once, so a compaction cannot loop. */
function* onceBetweenAnswers(lines: readonly Line[], is: (what: string) => Violation): Iterable<Violation> {
  let taken = new Set<string>();
  for (const line of lines) {
    if (line.type === "message" && line.role === "assistant") taken = new Set();
    if (!isCompaction(line) || line.details.runId === undefined) continue;
    const what = `${line.details.runId} ${line.details.kind}`;
    if (taken.has(what))
      yield is(`run ${line.details.runId} took the measure ${line.details.kind} twice, with no answer in between`);
    taken.add(what);
  }
}

const isCompaction = (line: Line): line is CompactionLine => line.type === "compaction";

/** Every message that a run took is in its agent's history, and stays there after every compaction. */
function* nothingLost({ listed, rows }: View): Iterable<Violation> {
  const texts = new Map(listed.map((of) => [of, of.lines.join("\n")]));
  for (const [token, found] of rows) {
    for (const { of, message } of found) {
      if (!["answered", "merged", "recorded", "failed"].includes(message.state) || message.runId === undefined)
        continue;
      if (!texts.get(of)?.includes(`⟦${token}⟧`)) yield broken("L10", `${token} was taken but is not in history`);
    }
  }
}

function* ofSession(session: readonly Line[], is: (what: string) => Violation): Iterable<Violation> {
  const places = new Map(session.map(({ id }, index) => [id, index]));
  const made = session.flatMap((line, index) =>
    line.type === "compaction" ? [{ line: line as CompactionLine, index }] : [],
  );
  for (const { line, index } of made) {
    const kept = places.get(line.firstKeptEntryId);
    if (kept === undefined || kept >= index)
      yield is(`${line.id} keeps from ${line.firstKeptEntryId}, which is not before it`);
    const { tokensAfter } = line.details;
    if (!(tokensAfter < line.tokensBefore))
      yield is(`${line.id} changed ${line.tokensBefore} tokens to ${tokensAfter}`);
    if (line.summary.trim() === "") yield is(`${line.id} has an empty summary`);
  }
  const covering = made.filter(({ line }) => line.details.covered);
  for (const { line } of covering) {
    const { from, through } = line.details.covered ?? { from: "", through: "" };
    const start = places.get(from) ?? -1;
    const end = places.get(through) ?? -1;
    const kept = places.get(line.firstKeptEntryId) ?? -1;
    if (start === -1 || end < start)
      yield is(`${line.id} covers ${from} to ${through}, which is not a range of its session`);
    const between = session.slice(end + 1, kept).filter(({ type }) => type === "message");
    if (kept <= end || between.length > 0) yield is(`${line.id}: ${between.length} messages between covered and kept`);
  }
  // At most one memory flush between two compactions.
  const stretches = [0, ...covering.map(({ index }) => index), session.length];
  for (const [from, to] of pairs(stretches)) {
    const flushes = session.slice(from, to).filter(({ type, hidden }) => type === "custom_message" && hidden);
    if (flushes.length > 1) yield is(`${flushes.length} flushes between two compactions`);
  }
  // The first covers from the beginning, each later one from the first entry that the one before kept.
  const first = covering[0]?.line;
  const said = session.find(({ type }) => type === "message" || type === "custom_message");
  if (first && said && (places.get(first.details.covered?.from ?? "") ?? 0) > (places.get(said.id) ?? 0))
    yield is(`${first.id} does not cover the first message`);
  for (const [a, b] of pairs(covering)) {
    const from = b.line.details.covered?.from;
    if (from !== a.line.firstKeptEntryId)
      yield is(`${b.line.id} begins with ${from}, but the one before kept from ${a.line.firstKeptEntryId}`);
  }
}

/** The lines of each session, with the marker that begins it. */
function sessionsOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const sessions: Line[][] = [];
  for (const line of lines) {
    if (line.type === "start" || line.type === "reset") sessions.push([]);
    sessions.at(-1)?.push(line);
  }
  return sessions;
}
