/**
 * Posts what a person typed at a terminal: a message, a command, or a command and a message. Durable when it resolves; a request
 * that is repeated with its key posts nothing twice (M18).
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { ConflictError } from "../../../core/errors.ts";
import { ONE_RUN_EACH } from "../../../core/message/queue.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { PostRequest } from "../../../engine/agents/message-ingress.ts";
import type { AcceptResult } from "../../../engine/inbox/accept.ts";
import { resolveQueueSettings } from "../../../engine/inbox/queue-settings.ts";
import { keyReused } from "../http/http-error.ts";
import { type AcceptedOnce, type AcceptingCall, postingOf, staleError } from "../messages/accept-once.ts";
import { chatBody } from "../messages/chat-body.ts";
import { messageFiles } from "../messages/message-files.ts";
import { assertMayMessage } from "../messages/speaking-in.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { addressAt, type Seat } from "./terminal-seat.ts";

interface TypedCall extends AcceptingCall {
  readonly context: GatewayContext;
  readonly body: {
    readonly text: string;
    readonly user?: string;
    readonly files?: readonly string[];
    /** One line of several. */
    readonly line?: boolean;
  };
}

/** An agent that exists, or a thread of the seat. */
interface Recipient {
  readonly agent?: AgentRecord;
  readonly thread?: string;
}

type SeatOf<K extends Seat["kind"]> = Extract<Seat, { readonly kind: K }>;

/** Posts the text of the owner, read as on any channel. */
export async function postOwners(
  call: TypedCall,
  { user }: SeatOf<"owner">,
  { agent, thread }: Recipient,
): Promise<readonly AcceptedOnce[]> {
  const { context, principal } = call;
  const { text, line } = call.body;
  const named = agent && { agentId: agent.id };
  const source = { connector: TERMINAL_CHANNEL, accountId: principal.id, channelId: user };
  const { behalf } = await postingOf(call);
  const files = await messageFiles(call, call.body.files, { behalf: behalf ?? { person: OWNER } });
  const posts: AcceptedOnce[] = [];
  const host = context.agents.connectorHost({ name: TERMINAL_CHANNEL }, ({ to: usual, body, sender }) =>
    postPart(call, posts, { to: named ?? usual, body, source, sender, behalf }),
  );
  await host.accept({
    connector: TERMINAL_CHANNEL,
    userId: user,
    channelId: user,
    threadId: thread,
    files,
    messageId: context.ports.ids.uuid(),
    text,
    queueDefault: line ? ONE_RUN_EACH : undefined,
    delivery: { channel: TERMINAL_CHANNEL, to: user },
  });
  return posts;
}

/** Posts the text of a guest, with that guest's rights and limits, in a conversation of that guest. */
export async function postPersons(
  call: TypedCall,
  seat: SeatOf<"person">,
  { agent, thread }: Recipient,
): Promise<readonly AcceptedOnce[]> {
  const { context, principal } = call;
  const { text, line } = call.body;
  if (agent) assertMayMessage(principal, agent);
  const to = agent ? { agentId: agent.id } : addressAt(context, seat, thread);
  const speaker = { person: seat.speaker.person, isNamed: true };
  const { source, behalf } = await postingOf(call, speaker);
  const files = await messageFiles(call, call.body.files, { behalf: behalf ?? speaker, user: call.body.user });
  // Its source is the API, on which programs write. But a person types here, as in any chat.
  const asChat = { cfg: context.settings.current, channel: TERMINAL_CHANNEL };
  const queueDefault = line ? ONE_RUN_EACH : resolveQueueSettings(asChat);
  const said = { kind: "user", text, files, sender: { id: seat.speaker.user }, queueDefault } as const;
  const [content, command] = chatBody(context.settings.current, said, TERMINAL_CHANNEL);
  const posts: AcceptedOnce[] = [];
  for (const body of command ? [command, content] : [content]) {
    await postPart(call, posts, { to, body, source, behalf });
  }
  return posts;
}

/** Each message of a request has its own commit, and in it its own row under the request's key. */
async function postPart(
  { context, keyed }: TypedCall,
  posts: AcceptedOnce[],
  message: Omit<PostRequest, "request">,
): Promise<Exclude<AcceptResult, { readonly status: "stale" }>> {
  const request = keyed && { ...keyed, key: `${keyed.key}#${posts.length}` };
  const posted = await context.agents.post({ ...message, longText: "file", request }).catch((error) => {
    throw request && error instanceof ConflictError ? keyReused() : error;
  });
  if (posted.status === "stale") throw staleError();
  posts.push({ ...posted, isRepeated: posted.duplicate });
  return posted;
}
