/**
 * The auditor. It contains the laws and no code of the engine: it judges by the records of channels, model and tools
 * outside, and by the public listing. Each function is one law and returns its violations.
 */
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message/message.ts";
import { tokensIn, tokenText } from "../world/tokens.ts";
import { approvals } from "./audit-approvals.ts";
import { budgets } from "./audit-budgets.ts";
import { callers } from "./audit-callers.ts";
import { compaction } from "./audit-compaction.ts";
import { context } from "./audit-context.ts";
import { failures } from "./audit-failures.ts";
import { files } from "./audit-files.ts";
import { keys } from "./audit-keys.ts";
import { notices } from "./audit-notices.ts";
import { pairing } from "./audit-pairing.ts";
import { people } from "./audit-people.ts";
import { peopleActs } from "./audit-people-acts.ts";
import { receipts } from "./audit-receipts.ts";
import { rights } from "./audit-rights.ts";
import { rules } from "./audit-rules.ts";
import { runs } from "./audit-runs.ts";
import { sessions } from "./audit-sessions.ts";
import { subagents } from "./audit-subagents.ts";
import { talk } from "./audit-talk.ts";
import { tokenTree } from "./audit-token-tree.ts";
import { triggers } from "./audit-triggers.ts";
import { untrusted } from "./audit-untrusted.ts";
import {
  broken,
  isAnswer,
  isBudgetNotice,
  overBudget,
  pairs,
  parsed,
  type Row,
  textOf,
  type View,
  type Violation,
  viewOf,
} from "./audit-view.ts";
import type { Evidence, ListedAgent } from "./evidence.ts";

export function audit(evidence: Evidence): readonly Violation[] {
  const view = viewOf(evidence);
  return [
    ...identity(view),
    ...everyMessageSettledOnce(view),
    ...takenInOrder(view),
    ...answersInOrder(view),
    ...targetsInOrder(view),
    ...runs(view),
    ...budgets(view),
    ...tokenTree(view),
    ...keys(view),
    ...everyDeliveryEnds(view),
    ...shownAtMostOnce(view),
    ...receipts(view),
    ...notices(view),
    ...context(view),
    ...talk(view),
    ...people(view),
    ...untrusted(view),
    ...callers(view),
    ...triggers(view),
    ...compaction(view),
    ...sessions(view),
    ...files(view),
    ...subagents(view),
    ...approvals(view),
    ...rights(view),
    ...rules(view),
    ...peopleActs(view),
    ...failures(view),
    ...pairing(view),
    ...evidence.listed.flatMap((one) => [...lawfulState(one)]),
  ];
}

/** A conversation has one agent, an agent one conversation (M3). */
function* identity({ workload, rows }: View): Iterable<Violation> {
  const agentOf = new Map<string, string>();
  const conversationOf = new Map<string, string>();
  for (const item of workload.items) {
    if (item.kind === "command" || item.kind === "child") continue;
    const { name } = item.conversation;
    for (const { of } of rows.get(item.token) ?? []) {
      const agent = of.agent.id;
      if ((agentOf.get(name) ?? agent) !== agent) yield broken("identity", `${name} has two agents`);
      if ((conversationOf.get(agent) ?? name) !== name) yield broken("identity", `${agent} serves two conversations`);
      agentOf.set(name, agent);
      conversationOf.set(agent, name);
    }
  }
}

/** An acknowledged message is in one inbox and has ended once, with its trace; every answer has a delivery (L1). */
function* everyMessageSettledOnce(view: View): Iterable<Violation> {
  for (const { token, acknowledgedAt, accepted, refused } of view.channels.flatMap((channel) => channel.inbound)) {
    // What a stranger says is refused, and not lost.
    if (token === undefined || (refused && !accepted)) continue;
    const found = view.rows.get(token) ?? [];
    if (acknowledgedAt !== undefined && found.length === 0) yield broken("L1", `${token} was acknowledged but is lost`);
  }
  for (const [token, found] of view.rows) {
    if (found.length > 1) yield broken("L1", `${token} was accepted ${found.length} times`);
    for (const row of found) yield* settled(view, token, row);
  }
}

function* settled({ calls, scenario }: View, token: string, { of, message }: Row): Iterable<Violation> {
  const { state, runId, reason } = message;
  if (state === "waiting" || state === "taken") return yield broken("liveness", `${token} is still ${state}`);
  const run = of.runs.find(({ id }) => id === runId);
  // A message that no run could take is reported under its own place.
  const ownRun = runId ?? `command-${of.agent.id}-${message.seq}`;
  const owed = of.deliveries.filter((delivery) => delivery.runId === ownRun);
  if (state === "answered" || state === "merged") {
    if (!run) return yield broken("L1", `${token} is ${state}, but its run is not listed`);
    const call = calls.findLast(({ answer, fresh }) => answer !== undefined && fresh.includes(token));
    if (!call) return yield broken("L1", `${token} is ${state}, but the model never answered it`);
    if (!message.delivery) return;
    const answers = of.deliveries.filter((delivery) => isAnswerTo(delivery, token));
    if (answers.length > 1) yield broken("L1", `${token} is answered ${answers.length} times`);
    const silent = calls.some((one) => one.silent && one.fresh.includes(token));
    if (answers.length === 0 && !(silent && owed.some((delivery) => delivery.state === "suppressed"))) {
      yield broken("L1", `${token} is ${state}, but its answer is neither shown nor listed`);
    }
    return;
  }
  if (!scenario.ends.includes(state)) yield broken("L1", `${token} ended ${state}, which no policy here does`);
  if (runId === undefined && reason === undefined) yield broken("L1", `${token} ended ${state} without a trace`);
  // A used-up budget is reported once.
  const toldBefore = overBudget({ of, message }) && of.deliveries.some(isBudgetNotice);
  if (state === "failed" && message.delivery && owed.length === 0 && !toldBefore)
    yield broken("L1", `${token} failed without a delivery that reports it`);
}

const isAnswerTo = (delivery: Delivery, token: string): boolean =>
  isAnswer(delivery) && textOf(delivery).includes(tokenText(token));

/** Tokens reach the model in the order of the inbox, and the inbox keeps the order that the outside can prove (L2). */
function* takenInOrder({ calls, rows, channels, scenario }: View): Iterable<Violation> {
  const { order = "inbox" } = scenario;
  const last = new Map<string, { seq: number; token: string }>();
  const seen = new Set<string>();
  for (const token of calls.flatMap((call) => call.tokens)) {
    const row = rows.get(token)?.[0];
    if (!row || order === "none" || seen.has(token) || isSilent(row.message)) continue;
    seen.add(token);
    const lane = laneOf(row, order);
    const before = last.get(lane);
    if (before && before.seq > row.message.seq) {
      yield broken(
        "L2",
        `${before.token} (seq ${before.seq}) reached the model before ${token} (seq ${row.message.seq})`,
      );
    }
    last.set(lane, { seq: row.message.seq, token });
  }
  const inbound = channels.flatMap((channel) => channel.inbound);
  for (const a of inbound) {
    for (const b of inbound) {
      // A message that was refused and comes again is new.
      if (a.acknowledgedAt === undefined || a.refused || b.submittedAt === undefined) continue;
      if (a.acknowledgedAt >= b.submittedAt) continue;
      const first = rows.get(a.token ?? "")?.[0];
      const second = rows.get(b.token ?? "")?.[0];
      if (!first || !second || first.of !== second.of || first.message.seq < second.message.seq) continue;
      yield broken(
        "L2",
        `${a.token} was acknowledged before ${b.token} was submitted, but comes after it in the inbox`,
      );
    }
  }
}

/** The scope in which messages keep their order: the inbox, or one route into it. */
const laneOf = ({ of, message }: Row, order: string): string =>
  order === "route" ? `${of.agent.id} ${JSON.stringify(message.delivery)}` : of.agent.id;

const isSilent = ({ body }: Message): boolean => body.kind === "system" && body.silent === true;

/** The answers shown to one person come in the order of what they answer (L2). */
function* answersInOrder({ channels, rows, lost, scenario }: View): Iterable<Violation> {
  const { order = "inbox" } = scenario;
  if (order === "none") return;
  for (const channel of channels) {
    const last = new Map<string, { seq: number; text: string }>();
    const seen = new Set<string>();
    for (const { deliveryId, shown, to, thread, text } of channel.sends) {
      if (!shown || lost.has(deliveryId) || seen.has(deliveryId) || tokensIn(text, "r").length === 0) continue;
      seen.add(deliveryId);
      // An answer may mention messages dropped on another route; only those from the place where it is shown count.
      const answered = tokensIn(text, "t")
        .flatMap((token) => rows.get(token)?.[0] ?? [])
        .filter(({ message }) => String(message.delivery?.threadId ?? "") === thread);
      if (answered.length === 0) continue;
      const seq = Math.max(...answered.map(({ message }) => message.seq));
      const whose = `${answered[0]?.of.agent.id} ${thread}`;
      const before = last.get(whose);
      if (before && before.seq > seq) yield broken("L2", `${to} was shown "${before.text}" before "${text}"`);
      last.set(whose, { seq, text });
    }
  }
}

/** Deliveries to one target are sent in the order they were added, by all agents together (M17). Questions have an order of their own. */
function* targetsInOrder({ listed, sends, lost }: View): Iterable<Violation> {
  const byTarget = new Map<string, Delivery[]>();
  for (const delivery of listed.flatMap(({ deliveries }) => deliveries)) {
    const key = `${delivery.target.channel}/${delivery.target.to}/${delivery.target.threadId ?? ""}${delivery.target.lane ?? ""}`;
    byTarget.set(key, [...(byTarget.get(key) ?? []), delivery]);
  }
  for (const [target, owed] of byTarget) {
    owed.sort((a, b) => a.n - b.n);
    const first = owed.flatMap(({ id }) => (lost.has(id) ? [] : (sends.get(id)?.[0] ?? [])));
    for (const [a, b] of pairs(first)) {
      if (a.at > b.at)
        yield broken("L2", `${target}: ${b.deliveryId} was sent before ${a.deliveryId}, which came first`);
    }
  }
}

/**
 * Every delivery has ended, and its end matches the channel's record (L5). Only a person who never reads leaves deliveries in a
 * mailbox (M27), and only a reader's acknowledgement takes one out of it. When every channel exists, none is unroutable (M26).
 */
function* everyDeliveryEnds({ listed, shown, channels, workload }: View): Iterable<Violation> {
  const read = channels.find(({ name }) => name === "api")?.acknowledged;
  for (const { id, state, reason, target } of listed.flatMap(({ deliveries }) => deliveries)) {
    const times = shown.get(id)?.length ?? 0;
    if (state === "waiting-reader") {
      if (target.channel !== "api" || target.to !== workload.neverReads) yield broken("L5", `${id} was never read`);
      continue;
    }
    if (state === "sent" && target.channel === "api" && !read?.has(id))
      yield broken("L5", `${id} is listed as sent, but its reader has not acknowledged it`);
    if (state === "pending" || state === "sending" || state === "unroutable")
      yield broken("L5", `${id} is still ${state}`);
    if (state === "sent" && times === 0) yield broken("L5", `${id} is listed as sent but was never shown`);
    if ((state === "failed" || state === "suppressed") && times > 0)
      yield broken("L5", `${id} is ${state}, but was shown`);
    if (state !== "sent" && state !== "pending" && state !== "sending" && reason === undefined) {
      yield broken("L5", `${id} is ${state} without a reason`);
    }
  }
}

/** Shown at most once; if an ambiguous channel could not confirm it, listed as unconfirmed (L12). */
function* shownAtMostOnce({ channels, listed, sends }: View): Iterable<Violation> {
  const deliveries = new Map(
    listed.flatMap(({ deliveries: all }) => all).map((delivery) => [String(delivery.id), delivery]),
  );
  for (const channel of channels) {
    const times = new Map<string, number>();
    for (const { deliveryId, shown, text } of channel.sends) {
      if (!shown) continue;
      const marks = tokensIn(text, "r").length > 0 ? tokensIn(text, "t").map((token) => `an answer to ${token}`) : [];
      for (const what of [deliveryId, ...marks]) times.set(what, (times.get(what) ?? 0) + 1);
      if (!deliveries.has(deliveryId)) yield broken("L12", `${deliveryId} was shown but is not listed`);
    }
    for (const [what, count] of times) {
      if (count > 1) yield broken("L12", `${what} was shown ${count} times on ${channel.name}`);
    }
    if (channel.sendingClass === "reconcilable") continue;
    for (const { id, state } of deliveries.values()) {
      const mine = (sends.get(id) ?? []).filter((send) => channel.sends.includes(send));
      const unknown = mine.some(({ result }) => result === "unknown");
      if (channel.sendingClass === "ambiguous" && !channel.receipts && unknown && state !== "unconfirmed") {
        yield broken("L12", `${id} could not be confirmed, but is listed ${state}`);
      }
      if (channel.sendingClass === "idempotent" && mine.length > 0 && state === "unconfirmed") {
        yield broken("L12", `${id} is unconfirmed on an idempotent channel`);
      }
    }
  }
}

/** Holds after every commit (L11). Also checked before every restart. */
export function* lawfulState({ agent, messages, runs, lines }: ListedAgent): Iterable<Violation> {
  const waiting = messages.filter(({ state }) => state === "waiting");
  const open = runs.filter(({ state }) => state === "open");
  const is = (what: string): Violation => broken("L11", `${agent.id}: ${what}`);
  if (agent.waiting !== waiting.length) yield is(`counts ${agent.waiting} waiting, has ${waiting.length}`);
  if (waiting.some(({ seq }) => seq <= agent.cursor)) yield is("a message waits behind the cursor");
  if (messages.some(({ seq }, index) => seq !== index + 1)) yield is("sequences are not 1, 2, 3 …");
  if (agent.nextSeq !== messages.length + 1)
    yield is(`next sequence ${agent.nextSeq} after ${messages.length} messages`);
  if (open.length > 1) yield is("two open runs");
  if (open[0]?.id !== agent.runId) yield is(`open run ${open[0]?.id}, but the agent names ${agent.runId}`);
  for (const { seq, state, runId } of messages) {
    if (state === "taken" && runId !== agent.runId) yield is(`message ${seq} is taken by a run that is not open`);
  }
  if (agent.nextPos !== lines.length) yield is(`next position ${agent.nextPos} after ${lines.length} lines`);
  if (!lines.some((line) => parsed(line).id === agent.leaf)) yield is("its leaf is not in its history");
}
