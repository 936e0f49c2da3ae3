/**
 * The auditor. It knows the laws (DESIGN §3) and nothing of the engine: it judges by what channels, model and tools saw
 * outside, and by the traces of the public listing. Each function is one law and returns what breaks it.
 */
import type { Delivery } from "../../src/core/delivery.ts";
import type { Message } from "../../src/core/message.ts";
import type { SendRecord } from "./channel.ts";
import type { Evidence, ListedAgent } from "./evidence.ts";
import type { ModelCall } from "./scripted-model.ts";
import { tokensIn, tokenText } from "./tokens.ts";

export type Law = "L1" | "L2" | "L3" | "L4" | "L5" | "L11" | "L12" | "identity" | "liveness" | "program";

export interface Violation {
  readonly law: Law;
  readonly what: string;
}

export function audit(evidence: Evidence): readonly Violation[] {
  const view = viewOf(evidence);
  return [
    ...identity(view),
    ...everyMessageSettledOnce(view),
    ...takenInOrder(view),
    ...answersInOrder(view),
    ...oneLiveRun(view),
    ...noToolRepeated(view),
    ...everyDeliveryEnds(view),
    ...shownAtMostOnce(view),
    ...lawfulRequests(view),
    ...evidence.listed.flatMap((one) => [...lawfulState(one)]),
  ];
}

interface Row {
  readonly of: ListedAgent;
  readonly message: Message;
}

interface View extends Evidence {
  /** Where each token lies in the inboxes. Lawful: exactly one place. */
  readonly rows: ReadonlyMap<string, readonly Row[]>;
  readonly shown: ReadonlyMap<string, readonly SendRecord[]>;
  readonly sends: ReadonlyMap<string, readonly SendRecord[]>;
}

function viewOf(evidence: Evidence): View {
  const rows = new Map<string, Row[]>();
  for (const of of evidence.listed) {
    for (const message of of.messages) {
      const text = "text" in message.body ? (message.body.text ?? "") : "";
      for (const token of tokensIn(text, "t")) push(rows, token, { of, message });
    }
  }
  const shown = new Map<string, SendRecord[]>();
  const sends = new Map<string, SendRecord[]>();
  for (const send of evidence.channels.flatMap((channel) => channel.sends)) {
    push(sends, send.deliveryId, send);
    if (send.shown) push(shown, send.deliveryId, send);
  }
  return { ...evidence, rows, shown, sends };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

const broken = (law: Law, what: string): Violation => ({ law, what });
const textOf = (delivery: Delivery): string => delivery.payload.text ?? "";
/** Two of something where one is right. */
const pairs = <T>(list: readonly T[]): [T, T][] => list.slice(1).map((item, index) => [list[index] as T, item]);

/** A conversation has one agent, an agent one conversation (DESIGN §6, M3). */
function* identity({ workload, rows }: View): Iterable<Violation> {
  const agentOf = new Map<string, string>();
  const conversationOf = new Map<string, string>();
  for (const item of workload.items) {
    if (item.kind === "command") continue;
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

/** L1: what was acknowledged lies in one inbox and has ended once, with its trace; what was answered is owed to somebody. */
function* everyMessageSettledOnce(view: View): Iterable<Violation> {
  for (const { token, acknowledgedAt } of view.channels.flatMap((channel) => channel.inbound)) {
    if (token === undefined) continue;
    const found = view.rows.get(token) ?? [];
    if (acknowledgedAt !== undefined && found.length === 0) yield broken("L1", `${token} was acknowledged and is lost`);
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
  const owed = of.deliveries.filter((delivery) => delivery.runId === runId);
  if (state === "answered" || state === "merged") {
    if (!run) return yield broken("L1", `${token} is ${state} by no listed run`);
    const call = calls.findLast(({ answer, fresh }) => answer !== undefined && fresh.includes(token));
    if (!call) return yield broken("L1", `${token} is ${state}, but the model never answered it`);
    if (!message.delivery) return;
    const answers = of.deliveries.filter((delivery) => isAnswerTo(delivery, token));
    if (answers.length > 1) yield broken("L1", `${token} is answered ${answers.length} times`);
    const silent = calls.some((one) => one.silent && one.fresh.includes(token));
    if (answers.length === 0 && !(silent && owed.some((delivery) => delivery.state === "suppressed"))) {
      yield broken("L1", `${token} is ${state}, but its answer was neither shown nor is it listed`);
    }
    return;
  }
  if (!scenario.ends.includes(state)) yield broken("L1", `${token} ended ${state}, which no policy here does`);
  if (runId === undefined && reason === undefined) yield broken("L1", `${token} ended ${state} without a trace`);
  if (state === "failed" && message.delivery && owed.length === 0)
    yield broken("L1", `${token} failed and nobody is told`);
}

const isAnswerTo = (delivery: Delivery, token: string): boolean =>
  tokensIn(textOf(delivery), "r").length > 0 && textOf(delivery).includes(tokenText(token));

/** L2: tokens reach the model in the order of the inbox, and the inbox keeps the order the outside can prove. */
function* takenInOrder({ calls, rows, channels }: View): Iterable<Violation> {
  const last = new Map<string, { seq: number; token: string }>();
  const seen = new Set<string>();
  for (const token of calls.flatMap((call) => call.tokens)) {
    const row = rows.get(token)?.[0];
    if (!row || seen.has(token) || isSilent(row.message)) continue;
    seen.add(token);
    const before = last.get(row.of.agent.id);
    if (before && before.seq > row.message.seq) {
      yield broken(
        "L2",
        `${before.token} (seq ${before.seq}) reached the model before ${token} (seq ${row.message.seq})`,
      );
    }
    last.set(row.of.agent.id, { seq: row.message.seq, token });
  }
  const inbound = channels.flatMap((channel) => channel.inbound);
  for (const a of inbound) {
    for (const b of inbound) {
      if (a.acknowledgedAt === undefined || b.handedAt === undefined || a.acknowledgedAt >= b.handedAt) continue;
      const first = rows.get(a.token ?? "")?.[0];
      const second = rows.get(b.token ?? "")?.[0];
      if (!first || !second || first.of !== second.of || first.message.seq < second.message.seq) continue;
      yield broken("L2", `${a.token} was acknowledged before ${b.token} was handed in, but stands behind it`);
    }
  }
}

const isSilent = ({ body }: Message): boolean => body.kind === "system" && body.silent === true;

/** L2, outward: the answers shown to one person come in the order of what they answer. */
function* answersInOrder({ channels, rows }: View): Iterable<Violation> {
  for (const channel of channels) {
    const last = new Map<string, { seq: number; text: string }>();
    const seen = new Set<string>();
    for (const { deliveryId, shown, to, text } of channel.sends) {
      if (!shown || seen.has(deliveryId) || tokensIn(text, "r").length === 0) continue;
      seen.add(deliveryId);
      const seq = Math.max(...tokensIn(text, "t").map((token) => rows.get(token)?.[0]?.message.seq ?? 0));
      const before = last.get(to);
      if (before && before.seq > seq) yield broken("L2", `${to} was shown "${before.text}" before "${text}"`);
      last.set(to, { seq, text });
    }
  }
}

/** L3, by commits: a result that was kept was thought up knowing every result kept before it. */
function* oneLiveRun({ listed, calls, scenario }: View): Iterable<Violation> {
  const forgetful = scenario.workload.resets[1] > 0 || scenario.workload.directives.overflow !== undefined;
  const byMark = new Map<string, ModelCall>();
  for (const call of calls) for (const mark of [call.answer ?? "", ...call.asked]) byMark.set(mark, call);
  for (const { agent, lines, runs } of listed) {
    const kept = lines.map(parsed).flatMap((line) => callOf(byMark, line));
    for (const [a, b] of forgetful ? [] : pairs(kept)) {
      const marks = a.answer === undefined ? a.asked : [a.answer];
      if (marks.every((mark) => b.context.has(mark))) continue;
      yield broken(
        "L3",
        `${agent.id}: model call ${b.n} (${b.process}) did not know what call ${a.n} (${a.process}) had said`,
      );
    }
    const open = runs.filter(({ state }) => state === "open");
    if (open.length > 1) yield broken("L3", `${agent.id} has ${open.length} open runs`);
  }
}

/** The model call an assistant's line in history comes from. A silent answer bears no mark. */
function callOf(byMark: ReadonlyMap<string, ModelCall>, { role, content }: Line): readonly ModelCall[] {
  if (role !== "assistant") return [];
  const marks = (content ?? []).flatMap((block) =>
    block.type === "toolCall" ? [block.id ?? ""] : tokensIn(block.text ?? "", "r"),
  );
  const call = byMark.get(marks[0] ?? "-");
  return call ? [call] : [];
}

/** L4: what must not be repeated started once, and every call that history knows has its outcome there. */
function* noToolRepeated({ executions, listed }: View): Iterable<Violation> {
  const started = new Map<string, number>();
  for (const { replay, tool, token } of executions) {
    if (replay === "never") started.set(`${tool} for ${token}`, (started.get(`${tool} for ${token}`) ?? 0) + 1);
  }
  for (const [what, times] of started) if (times > 1) yield broken("L4", `${what} was executed ${times} times`);
  for (const { agent, lines } of listed) {
    const asked = new Set<string>();
    for (const entry of lines.map(parsed)) {
      for (const block of entry.content ?? []) if (block.type === "toolCall" && block.id) asked.add(block.id);
      if (entry.role === "tool" && entry.toolCallId) asked.delete(entry.toolCallId);
    }
    for (const id of asked) yield broken("L4", `${agent.id}: call ${id} has no outcome in history`);
  }
}

interface Line {
  readonly type?: string;
  readonly id?: string;
  readonly role?: string;
  readonly toolCallId?: string;
  readonly content?: readonly { readonly type?: string; readonly id?: string; readonly text?: string }[];
}
const parsed = (line: string): Line => JSON.parse(line) as Line;

/** L5: every delivery has ended, and its end is true to what the channel saw. */
function* everyDeliveryEnds({ listed, shown }: View): Iterable<Violation> {
  for (const { id, state, reason } of listed.flatMap(({ deliveries }) => deliveries)) {
    const times = shown.get(id)?.length ?? 0;
    if (state === "pending" || state === "sending") yield broken("L5", `${id} is still ${state}`);
    if (state === "sent" && times === 0) yield broken("L5", `${id} is listed sent and was never shown`);
    if ((state === "failed" || state === "suppressed") && times > 0)
      yield broken("L5", `${id} is ${state}, but was shown`);
    if (state !== "sent" && state !== "pending" && state !== "sending" && reason === undefined) {
      yield broken("L5", `${id} is ${state} without a reason`);
    }
  }
}

/** L12: shown at most once; where an ambiguous channel could not tell, listed as unconfirmed. */
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
      if (!deliveries.has(deliveryId)) yield broken("L12", `${deliveryId} was shown and is not listed`);
    }
    for (const [what, count] of times) {
      if (count > 1) yield broken("L12", `${what} was shown ${count} times on ${channel.name}`);
    }
    if (channel.sendingClass === "reconcilable") continue;
    for (const { id, state } of deliveries.values()) {
      const mine = (sends.get(id) ?? []).filter((send) => channel.sends.includes(send));
      const unknown = mine.some(({ result }) => result === "unknown");
      if (channel.sendingClass === "ambiguous" && unknown && state !== "unconfirmed") {
        yield broken("L12", `${id} could not be confirmed, but is listed ${state}`);
      }
      if (channel.sendingClass === "idempotent" && mine.length > 0 && state === "unconfirmed") {
        yield broken("L12", `${id} is unconfirmed on a channel that can tell`);
      }
    }
  }
}

/** L11: whatever was restored, the model is asked only what a provider accepts, and no message stands twice in it. */
function* lawfulRequests({ calls }: View): Iterable<Violation> {
  for (const { n, process, unlawful, tokens } of calls) {
    if (unlawful) yield broken("L11", `model call ${n} (${process}): ${unlawful}`);
    const twice = tokens.find((token, index) => tokens.indexOf(token) !== index);
    if (twice) yield broken("L11", `model call ${n} (${process}): ${twice} stands twice in the context`);
  }
}

/** L11: what any committed point must look like. Also asked before every restart. */
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
