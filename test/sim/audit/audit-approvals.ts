/**
 * The risky tool runs only after a person's yes to the very same call, once per yes, and never after what was approved has changed
 * (L13). A yes executes its call exactly once, unless history says why not. Of two answers one counts. What is aborted leaves no question open (M31).
 */
import { OWNER_USER } from "../world/approvers.ts";
import { broken, type View, type Violation, WALL } from "./audit-view.ts";

/** The tool that must be asked about. */
const RISKY = "sim_risky";
/** How long a commit may take: a file is read before it, and the tool starts after it. */
const SLACK_MS = 2_500;

export function* approvals(view: View): Iterable<Violation> {
  if (!view.scenario.approvals) return;
  yield* ranAfterYes(view);
  yield* everyYesCounts(view);
  yield* oneAnswerCounts(view);
  yield* nothingOpen(view);
}

function* ranAfterYes({ executions, approvals: rows, answers, workload, watched }: View): Iterable<Violation> {
  const owners = new Set(
    workload.items.flatMap((item) =>
      item.kind === "message" && item.conversation.user === OWNER_USER ? [item.token] : [],
    ),
  );
  const started = new Map<string, number>();
  for (const { tool, token, startedAt } of executions) {
    if (tool !== RISKY || owners.has(token)) continue;
    const times = (started.get(token) ?? 0) + 1;
    started.set(token, times);
    const asked = rows.filter((row) => row.arguments.token === token);
    const used = asked.filter(({ state }) => state === "used");
    if (times > used.length)
      yield broken("L13", `${RISKY} for ${token} ran ${times} times with ${used.length} used yeses`);
    const yeses = answers.filter(
      ({ id, approve, at, confirmed }) =>
        approve && confirmed !== false && at <= startedAt && asked.some((row) => row.id === id),
    );
    if (yeses.length === 0) yield broken("L13", `${RISKY} for ${token} ran without a yes`);
    const contents = contentsAround(watched, startedAt);
    const same = asked.some(({ askedAt }) =>
      contentsAround(watched, askedAt - WALL).some((one) => contents.includes(one)),
    );
    if (!same) yield broken("L13", `${RISKY} for ${token} ran although what was approved had changed`);
  }
}

/** A call that was begun and has no outcome, or was refused by what has changed since. */
const NOT_MADE = /Outcome unknown|Not started|Not executed|may not|not allowed/;

function* everyYesCounts({ approvals: rows, answers, executions, listed }: View): Iterable<Violation> {
  const linesOf = new Map(listed.map(({ agent, lines }) => [String(agent.id), lines]));
  for (const { id, agentId, state, used } of rows) {
    const isYes = answers.some((answer) => answer.id === id && answer.approve && answer.confirmed === true);
    if (state === "approved" || (isYes && state === "expired")) {
      yield broken("liveness", `approval ${id} is ${state}, but its call was never begun`);
    }
    if (state !== "used" || !used) continue;
    const times = executions.filter(({ runId, callId }) => runId === used.runId && callId === used.callId).length;
    if (times > 1) yield broken("L13", `the call of approval ${id} was executed ${times} times`);
    const isTold = (linesOf.get(agentId) ?? []).some(
      (line) => NOT_MADE.test(line) && (line.includes(used.callId) || line.includes(`Approval ${id} `)),
    );
    if (times === 0 && !isTold) yield broken("L13", `approval ${id} was used, but its call was not executed`);
  }
}

/** What a file contained in the moments before a time. */
function contentsAround(watched: View["watched"], at: number): readonly string[] {
  return watched.flatMap(({ content, at: from }, index) => {
    const to = watched[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    return from <= at && to >= at - SLACK_MS ? [content] : [];
  });
}

function* oneAnswerCounts({ answers, approvals: rows }: View): Iterable<Violation> {
  for (const { id, state, decidedBy } of rows) {
    const confirmed = answers.filter((answer) => answer.id === id && answer.confirmed === true);
    if (confirmed.length > 1) yield broken("L13", `${confirmed.length} answers to ${id} were confirmed`);
    if (state === "expired" && decidedBy === "system" && confirmed.some(({ approve }) => !approve))
      yield broken("L13", `the no to ${id} was confirmed, but it expired`);
    if (state === "pending") yield broken("liveness", `approval ${id} is still pending`);
  }
}

function* nothingOpen({ listed, approvals: rows }: View): Iterable<Violation> {
  const aborted = new Map(
    listed.flatMap(({ runs }) => runs.flatMap((run) => (run.outcome === "aborted" ? [[String(run.id), run]] : []))),
  );
  for (const { id, runId, state, decidedAt } of rows) {
    const run = aborted.get(runId);
    if (!run) continue;
    if (state === "pending" || state === "approved")
      yield broken("L13", `run ${runId} was aborted, but ${id} is ${state}`);
    // A run ends after its mark: an answer that comes after the end came after the withdrawal too.
    if (state !== "withdrawn" && (decidedAt ?? 0) > (run.endedAt ?? Number.POSITIVE_INFINITY))
      yield broken("L13", `run ${runId} was aborted, but ${id} was ${state} later`);
  }
  for (const { agent } of listed) if (agent.suspended) yield broken("liveness", `${agent.id} is still suspended`);
}
