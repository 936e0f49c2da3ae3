/**
 * `previous_response_id`: the conversation that a response belongs to. An agent is one line of conversation, so only its latest
 * response can be continued; anything else would silently answer with another context.
 */
import type { AgentId } from "../../../core/ids.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Principal } from "../auth/principal.ts";
import { behalfOf } from "../auth/speaker.ts";
import { HttpError } from "../http/http-error.ts";
import { speakingIn } from "../messages/speaking-in.ts";
import type { Conversation } from "./resolve-conversation.ts";

const PARAM = "previous_response_id";

export const responseId = ({ agentId, seq }: { readonly agentId: AgentId; readonly seq: number }): string =>
  `resp_${agentId}_${seq}`;

export async function continuedConversation(
  store: Pick<Store, "agent" | "message" | "messages" | "run">,
  principal: Principal,
  previous: string,
  user: string | undefined,
): Promise<Conversation> {
  const [, id, seq] = /^resp_([a-z0-9]{1,64})_(\d{1,15})$/.exec(previous) ?? [];
  const agent = id === undefined ? undefined : await store.agent(id as AgentId);
  const message = agent && (await store.message(agent.id, Number(seq)));
  if (!agent || !message || message.body.kind !== "user") throw noResponse(previous);
  const speaking = spoken(() => speakingIn(principal, agent, user === undefined ? undefined : { id: user }), previous);
  const [latest] = await store.messages(agent.id, { limit: 1 });
  const run = message.runId === undefined ? undefined : await store.run(message.runId);
  const isReset = run !== undefined && run.sessionId !== agent.sessionId;
  if (latest?.seq !== message.seq || isReset) throw movedOn(isReset);
  const person =
    speaking.speaker?.person ?? speaking.behalf?.person ?? message.behalf?.person ?? behalfOf(principal).person;
  return {
    to: { agentId: agent.id },
    person,
    user: speaking.sender?.id ?? (message.body.sender?.id || undefined),
    name: agent.id,
    isNew: false,
    profile: agent.profile,
  };
}

/** Someone else's response is one that does not exist. */
function spoken<T>(speak: () => T, previous: string): T {
  try {
    return speak();
  } catch (error) {
    if (error instanceof HttpError && error.status === 403) throw noResponse(previous);
    throw error;
  }
}

const noResponse = (id: string): HttpError =>
  new HttpError(404, "response_not_found", `There is no response ${id.slice(0, 100)}.`, {
    param: PARAM,
    hint: "Send the id of a response that this token got, or leave it out and name the conversation with `user`.",
  });

const movedOn = (isReset: boolean): HttpError =>
  new HttpError(
    409,
    "conversation_moved_on",
    isReset
      ? "The conversation began a new session after this response."
      : "This is not the latest response of its conversation.",
    { param: PARAM, hint: "Send the id of the latest one, or send the conversation in `input` without a `user`." },
  );
