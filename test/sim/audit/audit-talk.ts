/**
 * Messages between agents: a call that reports a sent message has sent one, to the intended agent; any other call has
 * not (M12). A wait returns the answer to its own question, and no agent is left waiting (M11).
 */
import { firstToken, saidToken, spokenTo, TALK, type Talk } from "../world/talk.ts";
import { tokensIn, tokenText } from "../world/tokens.ts";
import type { Waited } from "../world/wait-log.ts";
import { broken, type Line, parsed, type Row, type View, type Violation } from "./audit-view.ts";
import type { ListedAgent } from "./evidence.ts";

interface Saying {
  readonly talk: Talk;
  readonly token: string;
  /** The result of the call that the model got; undefined if it got none. */
  readonly result: string | undefined;
}

export function* talk(view: View): Iterable<Violation> {
  const said = new Set<string>();
  for (const of of view.listed) {
    for (const saying of sayingsOf(of)) {
      said.add(saidToken(saying.talk, saying.token));
      yield* saying.talk.startsWith("ask") ? asked(view, of, saying) : sent(view, of, saying);
    }
  }
  for (const [token, [row]] of view.rows) {
    if (isSaid(token) && !said.has(token)) yield broken("M12", `${token} was not sent by any call in history`);
    if (isSaid(token) && row && !silentAsMeant(token, row)) yield broken("L1", `${token} has the wrong silent flag`);
  }
  yield* noCircles(view);
  yield* contactsApart(view);
  yield* asDescribed(view);
  for (const { from, to, id } of view.waits) yield broken("M11", `${from} is left waiting for ${to} (${id})`);
}

/** No message of one contact of a swarm ever reaches the agent of another contact. */
function* contactsApart({ listed, calls, workload }: View): Iterable<Violation> {
  const speakers = new Map(
    workload.items.flatMap((item) => (item.kind === "message" ? [[item.token, item.conversation.user]] : [])),
  );
  const userOf = new Map(
    listed.flatMap(({ agent: { id, descriptor } }) =>
      descriptor.type === "user" ? [[String(id), descriptor.userId]] : [],
    ),
  );
  for (const { agent } of listed) {
    if (agent.descriptor.type !== "swarm") continue;
    const contact = userOf.get(agent.descriptor.contact);
    for (const call of calls.filter(({ sessionId }) => sessionId === agent.sessionId)) {
      for (const token of call.bytes.flatMap((bytes) => tokensIn(bytes, "t"))) {
        if (speakers.get(firstToken(token)) === contact) continue;
        yield broken("identity", `model call ${call.n} for ${contact} knew ${token} of another contact`);
      }
    }
  }
}

/** A permanent agent has the last prompt that it got, and a removed one is no longer listed and has no work left. */
function* asDescribed({ listed, gone, described, removed }: View): Iterable<Violation> {
  for (const { agent, messages, runs } of gone) {
    if (!agent.stopped?.removed) yield broken("liveness", `${agent.id} should be removed but is still there`);
    const open = messages.filter(({ state }) => state === "waiting" || state === "taken");
    if (open.length > 0 || runs.some(({ state }) => state === "open"))
      yield broken("L1", `${agent.id} left work behind`);
    for (const { seq, state, reason } of messages) {
      if (state === "removed" && reason === undefined)
        yield broken("L1", `${agent.id}/${seq} was removed without a trace`);
    }
  }
  for (const { agent } of listed) {
    const { id, descriptor } = agent;
    const last = described.get(id)?.at(-1);
    if (descriptor.type !== "permanent" || last === undefined || removed.includes(id)) continue;
    if (descriptor.systemPrompt !== last)
      yield broken("L1", `${descriptor.name} has the prompt "${descriptor.systemPrompt}", but got "${last}"`);
  }
}

/** How long a refusal may take, and how long a wait of a dead process may stay in the store. */
const SLACK_MS = 4_000;
const AFTERLIFE_MS = 120_000;

/** Two agents wait for each other no longer than a refusal takes, and only a circle is refused. */
function* noCircles({ waited }: View): Iterable<Violation> {
  const lasted = (one: Waited): number => one.until ?? one.since + AFTERLIFE_MS;
  const reaches = (from: string, to: string, at: number, seen: ReadonlySet<string>): boolean =>
    from === to ||
    waited.some(
      (one) =>
        one.from === from &&
        !seen.has(one.to) &&
        one.since <= at &&
        lasted(one) >= at - SLACK_MS &&
        reaches(one.to, to, at, new Set([...seen, one.to])),
    );
  for (const one of waited) {
    if (one.until === undefined) continue;
    if (one.refused && !reaches(one.to, one.from, one.until, new Set([one.to]))) {
      yield broken("M11", `${one.from} got a refusal for its wait for ${one.to}, which waited for no agent`);
    }
    for (const other of waited) {
      if (other.until === undefined || other.from !== one.to || other.to !== one.from) continue;
      const both = Math.min(one.until, other.until) - Math.max(one.since, other.since);
      if (both > SLACK_MS) yield broken("M11", `${one.from} and ${one.to} waited for each other for ${both} ms`);
    }
  }
}

const isSaid = (token: string): boolean => firstToken(token) !== token;
const silentAsMeant = (token: string, { message: { body } }: Row): boolean =>
  (body.kind === "system" && body.silent === true) === token.startsWith(`t${TALK.indexOf("whisper") + 1}0000`);

/** The calls by which an agent talked, each with its result. */
function sayingsOf({ lines }: ListedAgent): readonly Saying[] {
  const entries = lines.map(parsed);
  const results = new Map<string, string>();
  for (const entry of entries)
    if (entry.role === "tool" && entry.toolCallId) results.set(entry.toolCallId, textOf(entry));
  return entries.flatMap((entry) =>
    (entry.content ?? []).flatMap((block) => {
      const kind = TALK.find((one) => block.name === `sim_${one}`);
      const token = block.arguments?.token;
      if (block.type !== "toolCall" || kind === undefined || token === undefined) return [];
      return [{ talk: kind, token, result: results.get(block.id ?? "") }];
    }),
  );
}

const textOf = ({ content }: Line): string => (content ?? []).map((block) => block.text ?? "").join("");

function* sent(view: View, of: ListedAgent, { talk: kind, token, result = "" }: Saying): Iterable<Violation> {
  const derived = saidToken(kind, token);
  const rows = view.rows.get(derived) ?? [];
  const sent = result === "System message sent." || result.startsWith("Message sent to swarm");
  if (sent !== rows.length > 0)
    yield broken("M12", `${derived} is in ${rows.length} inboxes, but its call said "${result}"`);
  if (kind === "missing" && !result.startsWith("Agent not found"))
    yield broken("M12", `${derived} to a missing agent: "${result}"`);
  for (const row of rows) yield* arrivedWhereMeant(view, of, kind, token, row);
}

function* asked(view: View, of: ListedAgent, { talk: kind, token, result }: Saying): Iterable<Violation> {
  const derived = saidToken(kind, token);
  const rows = view.rows.get(derived) ?? [];
  for (const row of rows) yield* arrivedWhereMeant(view, of, kind, token, row);
  const { status, reply, error } = answerIn(result);
  if (status === "ok" && !reply?.includes(`answers`)) yield broken("M12", `${derived} was answered "${reply}"`);
  if (status === "ok" && !reply?.includes(tokenText(derived))) {
    yield broken("M12", `${derived} got the answer to another question: "${reply}"`);
  }
  if (status === "ok" && rows.length === 0) yield broken("M12", `${derived} has an answer but was never asked`);
  if (error?.includes("is waiting for it") && rows.length > 0) {
    yield broken("M11", `${derived} would have closed a circle but was posted`);
  }
}

function answerIn(result = ""): { readonly status?: string; readonly reply?: string; readonly error?: string } {
  try {
    return JSON.parse(result) as ReturnType<typeof answerIn>;
  } catch {
    return {};
  }
}

/** The message is in the inbox of the intended agent, with the right sender. */
function* arrivedWhereMeant(
  { workload, permanentAgents }: View,
  from: ListedAgent,
  kind: Talk,
  token: string,
  { of, message }: Row,
): Iterable<Violation> {
  const { body } = message;
  if (body.kind !== "system" || body.origin !== from.agent.id) yield broken("M12", `${token}: its origin is wrong`);
  const speakers = new Map(
    workload.items.flatMap((item) => (item.kind === "message" ? [[item.token, item.conversation]] : [])),
  );
  const participants = {
    people: workload.conversations,
    permanentAgents,
    speakerOf: (one: string) => speakers.get(one),
  };
  const meant = spokenTo(kind, token, participants);
  const { descriptor } = of.agent;
  if (kind === "contact") {
    if (descriptor.type === "swarm" && descriptor.contact === from.agent.id) return;
  } else if (kind === "report") {
    if (descriptor.type === "user") return;
  } else if (meant && "permanentAgent" in meant) {
    if (descriptor.type === "permanent" && descriptor.name === meant.permanentAgent) return;
  } else if (
    descriptor.type === "user" &&
    (descriptor.peerKind === "group" ? descriptor.channelId : descriptor.userId) === meant?.user
  )
    return;
  yield broken(
    "M12",
    `${saidToken(kind, token)} was meant for ${JSON.stringify(meant)}, but is in the inbox of ${of.agent.sessionKey}`,
  );
}
