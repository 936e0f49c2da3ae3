/**
 * `previous_response_id`, and results of calls: the conversation that an answer belongs to, and the place in it. If the agent has
 * gone on from there, it goes back first, so every response of the current session can be continued, and more than once.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { readEntry } from "../../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Principal } from "../auth/principal.ts";
import { behalfOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { type SpeakingIn, speakingIn } from "../messages/speaking-in.ts";
import { continuedCalls, type GivenResult, noCall, type ToolResults } from "./caller-tools.ts";
import type { Conversation } from "./resolve-conversation.ts";

const PARAM = "previous_response_id";

export const responseId = ({ agentId, seq }: { readonly agentId: AgentId; readonly seq: number }): string =>
  `resp_${agentId}_${seq}`;

type Reader = Pick<Store, "agent" | "message" | "messages" | "run" | "linesBack">;

export async function continuedConversation(
  store: Reader,
  principal: Principal,
  previous: string,
  user: string | undefined,
): Promise<Conversation> {
  const [, id, seq] = /^resp_([a-z0-9]{1,64})_(\d{1,15})$/.exec(previous) ?? [];
  const agent = id === undefined ? undefined : await store.agent(id as AgentId);
  const message = agent && (await store.message(agent.id, Number(seq)));
  if (!agent || !message || message.body.kind !== "user") throw noResponse(previous);
  const speaking = spoken(
    () => speakingIn(principal, agent, user === undefined ? undefined : { id: user }),
    () => noResponse(previous),
  );
  const run = message.runId === undefined ? undefined : await store.run(message.runId);
  return continuing(store, principal, { agent, message, run, speaking });
}

/** The conversation whose calls the client has executed. Someone else's call is one that does not exist. */
export async function conversationOfResults(
  store: Reader,
  principal: Principal,
  given: readonly GivenResult[],
  { user, previous }: { readonly user: string | undefined; readonly previous: unknown },
): Promise<{ readonly conversation: Conversation; readonly results: ToolResults }> {
  const { agent, run, results } = await continuedCalls(store, given);
  const speaking = spoken(
    () => speakingIn(principal, agent, user === undefined ? undefined : { id: user }),
    () => noCall(given[0]),
  );
  const message = await store.message(agent.id, run.body.seqs.at(-1) ?? 0);
  if (message?.body.kind !== "user") throw noCall(given[0]);
  if (
    typeof previous === "string" &&
    !run.body.seqs.some((seq) => responseId({ agentId: agent.id, seq }) === previous)
  ) {
    throw new HttpError(400, "invalid_input", "The results do not belong to this response.", { param: PARAM });
  }
  return { conversation: await continuing(store, principal, { agent, message, run, speaking }), results };
}

interface Place {
  readonly agent: AgentRecord;
  readonly message: Message;
  readonly run: RunRecord | undefined;
  readonly speaking: SpeakingIn;
}

async function continuing(
  store: Reader,
  principal: Principal,
  { agent, message, run, speaking }: Place,
): Promise<Conversation> {
  if (run !== undefined && run.sessionId !== agent.sessionId) throw newSession();
  const sender = message.body.kind === "user" ? message.body.sender?.id : undefined;
  const person =
    speaking.speaker?.person ?? speaking.behalf?.person ?? message.behalf?.person ?? behalfOf(principal).person;
  return {
    to: { agentId: agent.id },
    person,
    user: speaking.sender?.id ?? (sender || undefined),
    isNew: false,
    profile: agent.profile,
    after: await placeOf(store, agent, message, run),
  };
}

/** The last entry of the run, or the entry after it if nothing was said since. Undefined if the run has not ended. */
async function placeOf(
  store: Reader,
  agent: AgentRecord,
  { seq }: Message,
  run: RunRecord | undefined,
): Promise<EntryId | undefined> {
  if (run?.state !== "ended" || run.body.lastPos === undefined) return undefined;
  const [latest] = await store.messages(agent.id, { limit: 1 });
  if (latest?.seq === seq) return agent.leaf;
  const [last] = await store.linesBack(agent.id, { before: run.body.lastPos + 1, limit: 1 });
  const read = last && readEntry(last.line);
  if (read?.kind !== "entry" || read.entry.type === "session") throw newSession();
  return read.entry.id;
}

/** Someone else's answer is one that does not exist. */
function spoken<T>(speak: () => T, unknown: () => HttpError): T {
  try {
    return speak();
  } catch (error) {
    if (error instanceof HttpError && error.status === 403) throw unknown();
    throw error;
  }
}

const noResponse = (id: string): HttpError =>
  new HttpError(404, "response_not_found", `There is no response ${id.slice(0, 100)}.`, {
    param: PARAM,
    hint: "Send the id of a response that this token got, or leave it out and name the conversation with `user`.",
  });

const newSession = (): HttpError =>
  new HttpError(409, "conversation_moved_on", "The conversation began a new session after this response.", {
    param: PARAM,
    hint: "Send the id of a later one, or send the conversation in `input` without a `user`.",
  });
