/**
 * Whoever's words a run has read is on its way (M30). The auditor finds out from outside who that is: every person's text carries a
 * mark, and marks are looked for in the bytes that the model was sent, there and wherever something it was sent came from. A run takes messages of one person only.
 */
import { idOfProvider, type ModelCall } from "../world/model-call.ts";
import { firstToken, saidToken, TALK } from "../world/talk.ts";
import { childMarksIn, jobMarksIn, tokensIn } from "../world/tokens.ts";
import type { WorkItem } from "../world/workload.ts";
import { broken, parsed, type View, type Violation } from "./audit-view.ts";
import type { ListedAgent } from "./evidence.ts";

type Said = Extract<WorkItem, { kind: "message" }>;

export function* people(view: View): Iterable<Violation> {
  const said = new Map(view.workload.items.flatMap((item) => (item.kind === "message" ? [[item.token, item]] : [])));
  // Where rules are tried, everyone is the owner.
  if (view.scenario.rules) return;
  // The minimal actor knows no people.
  if (view.listed.every(({ runs }) => runs.every(({ body }) => !body.behalf))) return;
  const behind = readersOf(view);
  for (const of of view.listed) {
    for (const { id, body } of of.runs) {
      if (!body.behalf) yield broken("M30", `run ${id} acts for no one`);
    }
    for (const { seq, body, behalf } of of.messages) {
      if (!behalf && body.kind === "user") yield broken("M30", `message ${of.agent.id}/${seq} is for no one`);
    }
    if (of.agent.person === undefined && isMade(of)) yield broken("M30", `agent ${of.agent.id} belongs to no one`);
    for (const { id, runId, payload } of of.deliveries) {
      const run = of.runs.find((one) => one.id === runId);
      if (payload.person === undefined) yield broken("M30", `delivery ${id} is for no one`);
      else if (run?.body.behalf && payload.person !== run.body.behalf.person)
        yield broken("M30", `delivery ${id} names ${payload.person}, but its run acts for ${run.body.behalf.person}`);
    }
    yield* onePersonEach(of, said);
    for (const { runId, call } of callsOf(of, behind.calls)) {
      const way = wayOf(of, runId);
      for (const token of way ? behind.read(call) : []) {
        const item = said.get(token);
        if (!item || namesOf(item).some((name) => way?.has(name))) continue;
        yield broken("M30", `run ${runId} was led to by ${token} of ${namesOf(item)[0]}, who is not on its way`);
      }
    }
  }
}

export interface Readers {
  /** By the mark of its answer and the ids of its tool calls. */
  readonly calls: ReadonlyMap<string, ModelCall>;
  /** The tokens of people that led to a model call: those it was sent, and those that led to what others sent it. */
  read(call: ModelCall): ReadonlySet<string>;
  /** The model call whose tool made what carries a mark: a message, a child, a job. */
  origin(mark: string): ModelCall | undefined;
}

export function readersOf(view: View): Readers {
  const calls = new Map(
    view.calls.flatMap((call) => [call.answer ?? [], call.asked].flat().map((mark) => [mark, call] as const)),
  );
  const origins = new Map<string, ModelCall>();
  for (const of of view.listed) {
    for (const { mark, call } of madeBy(of, calls)) origins.set(mark, call);
  }
  const known = new Map<ModelCall, Set<string>>();
  const read = (call: ModelCall): ReadonlySet<string> => {
    const before = known.get(call);
    if (before) return before;
    const tokens = new Set<string>();
    known.set(call, tokens);
    for (const mark of call.bytes.slice(1).flatMap(marksIn)) {
      tokens.add(tokenOf(mark));
      const origin = origins.get(mark);
      for (const token of origin ? read(origin) : []) tokens.add(token);
    }
    return tokens;
  };
  return { calls, read, origin: (mark) => origins.get(mark) };
}

/** The marks of what an agent's tool calls made: messages, children, jobs. */
function* madeBy(of: ListedAgent, calls: Readers["calls"]): Iterable<{ mark: string; call: ModelCall }> {
  for (const { content, role } of of.lines.map(parsed)) {
    for (const { type, id = "", name = "", arguments: given } of role === "assistant" ? (content ?? []) : []) {
      const call = calls.get(idOfProvider(id));
      if (type !== "toolCall" || !call) continue;
      const token = given?.token ?? "";
      const talk = TALK.find((one) => name === `sim_${one}`);
      const made = talk
        ? [saidToken(talk, token)]
        : name === "sim_job"
          ? [`j${token.slice(1)}`]
          : childMarksIn(JSON.stringify(given));
      for (const mark of made) yield { mark, call };
    }
  }
}

/** The model calls whose answers are in an agent's history, with their runs. */
export function* callsOf(of: ListedAgent, calls: Readers["calls"]): Iterable<{ runId: string; call: ModelCall }> {
  for (const { type, role, runId, content } of of.lines.map(parsed)) {
    if (type !== "message" || role !== "assistant" || runId === undefined) continue;
    const marks = (content ?? []).flatMap((block) => [
      idOfProvider(block.id ?? ""),
      ...tokensIn(block.text ?? "", "r"),
    ]);
    const call = marks.map((mark) => calls.get(mark)).find((one) => one !== undefined);
    if (call) yield { runId, call };
  }
}

/** The world itself makes some agents beside the program. */
const isMade = ({ agent }: ListedAgent): boolean =>
  agent.descriptor.type === "user" || agent.descriptor.type === "cron";

/** The marks in a text: of messages, of what agents send each other, of children, of jobs. */
export const marksIn = (text: string): readonly string[] => [
  ...tokensIn(text, "t"),
  ...childMarksIn(text),
  ...jobMarksIn(text),
];

/** The person's token at the beginning of a mark. */
const tokenOf = (mark: string): string => firstToken(`t${/^[a-z](\d+)/u.exec(mark)?.[1]}`);

function wayOf(of: ListedAgent, runId: string): ReadonlySet<string> | undefined {
  const behalf = of.runs.find(({ id }) => id === runId)?.body.behalf;
  return behalf && new Set([behalf.person, ...(behalf.through ?? [])]);
}

/** The ids under which a person may be known: the owner, the account, and the record that the account has, of all channels or of one. */
function namesOf({ message: { connector, userId } }: Said): readonly string[] {
  return userId === "u1" ? ["owner"] : [`${connector}:${userId}`, recordOf(userId), `${connector}-${userId}`];
}

/** The record that the owner makes for someone and removes again. */
export const recordOf = (user: string): string => `person-${user}`;

function* onePersonEach({ agent, messages, runs }: ListedAgent, said: ReadonlyMap<string, Said>): Iterable<Violation> {
  const bySeq = new Map(messages.map((message) => [message.seq, message]));
  for (const { id, body } of runs) {
    const writers = body.seqs.flatMap((seq) => {
      const text = (bySeq.get(seq)?.body as { text?: string } | undefined)?.text ?? "";
      return tokensIn(text, "t").flatMap((token) => said.get(token) ?? []);
    });
    if (new Set(writers.map(({ message }) => message.userId)).size > 1)
      yield broken("M30", `run ${id} of ${agent.id} took messages of several people`);
    for (const one of writers) {
      if (body.behalf && !namesOf(one).includes(body.behalf.person))
        yield broken("M30", `run ${id} acts for ${body.behalf.person}, but ${namesOf(one)[0]} wrote ${one.token}`);
    }
  }
}
