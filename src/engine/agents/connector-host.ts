/** What connectors call: posts a person's message or command to the agent of that conversation. */

import { type Addressed, type Conversation, userDescriptor } from "../../core/agent/address.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { isOwner as isOwnerByDefault } from "../../core/agent/session-key.ts";
import { cutText } from "../../core/cut-text.ts";
import { messageId, type RunId } from "../../core/ids.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { Source } from "../../core/message/message.ts";
import { referenceTo } from "../../core/message/stored-file.ts";
import type { PersonId } from "../../core/people/person.ts";
import type {
  Accepted,
  Connector,
  ConnectorFiles,
  ConnectorHost,
  DeliveryReceipt,
  IncomingCommand,
  PressedButton,
  PressResult,
} from "../../core/ports/connector.ts";
import { DEFAULT_TEXT_LIMITS, type TextLimits } from "../../core/text-limits.ts";
import type { CommandParts } from "../commands/chat-command.ts";
import type { FileService } from "../files/file-service.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import type { Arriving, Pairing } from "../people/pairing.ts";
import type { PostRequest } from "./message-ingress.ts";

/** Of what a channel says a message is about. */
const MAX_SUMMARY_LINE = 500;

type Post = (request: PostRequest) => Promise<AcceptResult>;

/** The conversation a message belongs to. */
export type AddressOf = (incoming: Conversation) => Pick<Addressed, "descriptor"> & Partial<Addressed>;

const byDescriptor: AddressOf = (incoming) => ({ descriptor: userDescriptor(incoming) });

export interface HostOptions {
  readonly address?: AddressOf;
  /** Whether the sender is the owner. Default: a sender at the terminal is. */
  readonly isOwner?: (sender: Pick<Conversation, "connector" | "userId">) => boolean;
  readonly resetTriggers?: readonly string[];
  readonly textLimits?: Pick<TextLimits, "messageCharacters">;
  readonly commands?: CommandParts;
  readonly files?: FileService;
  /** Whose account it is now. Needed to store files. */
  readonly personOf?: (connector: string, userId: string) => Promise<PersonId>;
  /** What a conversation's agent is and does now. Absent: nothing is known of it. */
  readonly conversations?: Conversations;
  /** Takes what the channel says about a delivery later. Absent: it is not used. */
  readonly receipt?: (channel: string, receipt: DeliveryReceipt) => Promise<void>;
  /** Who may write. Absent: everyone. */
  readonly pairing?: Pick<Pairing, "entry">;
}

export interface Conversations {
  agentAt(to: ReturnType<AddressOf>): Promise<AgentRecord | undefined>;
  /** False if it has ended. */
  abort(runId: RunId): Promise<boolean>;
  press(button: PressedButton): Promise<PressResult>;
}

export const ONLY_THE_OWNER_TEXT = "⚙️ Only the owner may use /send.";

export function hostFor(
  connector: Pick<Connector, "name" | "replayHorizonMs"> & Partial<Pick<Connector, "capabilities">>,
  post: Post,
  options: HostOptions = {},
): ConnectorHost {
  const { address: addressOf = byDescriptor, isOwner = isOwnerByDefault } = options;
  const common = (incoming: Omit<IncomingMessage, "text">) => ({
    to: addressOf(incoming),
    delivery: incoming.delivery,
    source: sourceOf(incoming),
    sender: {
      connector: incoming.connector,
      userId: incoming.userId,
      others: incoming.others,
      untrusted: incoming.untrusted,
    },
    about: aboutConversation(incoming),
    replayHorizonMs: connector.replayHorizonMs,
  });
  /**
   * The text after a command is a message of its own. After a crash in between, the channel repeats the command: the command
   * is then a duplicate, and the text is not lost.
   */
  const following = async (
    incoming: IncomingCommand,
    command: Accepted,
    text: string | undefined,
  ): Promise<Accepted> => {
    if (!text) return command;
    const { userId, queue, queueDefault } = incoming;
    const first = common(incoming);
    const source = { ...first.source, messageId: `${incoming.messageId}#text` };
    const body = { kind: "user", text, sender: { id: userId }, queue, queueDefault } as const;
    return acceptedAs(await post({ ...first, source, body }));
  };
  /** Undefined if the message may go on. */
  const refusal = async (incoming: Arriving, text?: string): Promise<Accepted | undefined> => {
    if (!connector.capabilities?.strangers || !options.pairing) return undefined;
    const entry = await options.pairing.entry(incoming, text);
    return entry.let === "in" ? undefined : { status: "refused", say: entry.say };
  };
  return {
    files: filesFor(connector.name, options),
    get commands() {
      return options.commands?.isOn?.(connector.name) ?? true;
    },
    get resetTriggers() {
      return options.resetTriggers;
    },
    // Read at each use: a reload may change it.
    get maxCharacters() {
      return (options.textLimits ?? DEFAULT_TEXT_LIMITS).messageCharacters;
    },
    entry: (arriving) => refusal(arriving),
    async stopRun(conversation, matches) {
      const runId = (await options.conversations?.agentAt(addressOf(conversation)))?.runId;
      return runId !== undefined && matches(runId) && (await options.conversations?.abort(runId)) === true;
    },
    async press(button) {
      const refused = await refusal(button);
      if (refused || !options.conversations) return { say: "You are not known here.", done: false };
      return options.conversations.press(button);
    },
    receipt: async (receipt) => options.receipt?.(connector.name, receipt),
    async groupActivation(conversation) {
      return (await options.conversations?.agentAt(addressOf(conversation)))?.state.groupActivation;
    },
    async note(incoming) {
      const refused = await refusal(incoming);
      if (refused) return refused;
      const body = { kind: "system", text: incoming.text, silent: true } as const;
      return acceptedAs(await post({ ...common(incoming), delivery: undefined, body }));
    },
    async accept(incoming) {
      const { text, files, replyToId, userId, senderName, queue, queueDefault, burst, summaryLine } = incoming;
      const refused = await refusal(incoming, text);
      if (refused) return refused;
      return acceptedAs(
        await post({
          ...common(incoming),
          longText: "file",
          body: {
            kind: "user",
            text,
            sender: { id: userId, name: senderName || undefined },
            files: files && [...files],
            replyToId: replyToId || undefined,
            queue,
            queueDefault,
            burst,
            summaryLine: summaryLine && cutText(summaryLine, MAX_SUMMARY_LINE),
          },
        }),
      );
    },
    async command(incoming) {
      const { command } = incoming;
      const refused = await refusal(incoming);
      if (refused) return refused;
      if (command.name === "stop") return acceptedAs(await post({ ...common(incoming), body: { kind: "stop" } }));
      if (command.name === "compact") {
        const body = { kind: "compact", instructions: command.instructions || undefined } as const;
        return acceptedAs(await post({ ...common(incoming), body }));
      }
      if (command.name === "subagents") {
        return acceptedAs(await post({ ...common(incoming), body: { kind: "subagents", command: command.text } }));
      }
      if (command.name === "queue") {
        return acceptedAs(await post({ ...common(incoming), body: { kind: "setting", queue: command.settings } }));
      }
      if (command.name === "send") {
        const change = isOwner(incoming) ? { patch: { sendPolicy: command.policy } } : { refused: ONLY_THE_OWNER_TEXT };
        return acceptedAs(await post({ ...common(incoming), body: { kind: "setting", ...change } }));
      }
      if (command.name === "chat") {
        const { command: name, text, inTurn, message } = command;
        const body = { kind: "command", name, text, inTurn } as const;
        return following(incoming, acceptedAs(await post({ ...common(incoming), body })), message);
      }
      const reset = await post({ ...common(incoming), body: { kind: "reset", by: "person" } });
      return following(incoming, acceptedAs(reset), command.text);
    },
  };
}

/** What the channel shows of the conversation itself. */
function aboutConversation({ subject, groupChannel, space }: Omit<IncomingMessage, "text">): PostRequest["about"] {
  return subject === undefined && groupChannel === undefined && space === undefined
    ? undefined
    : { subject, groupChannel, space };
}

function filesFor(connector: string, { files, personOf }: HostOptions): ConnectorFiles | undefined {
  if (!files || !personOf) return undefined;
  return {
    get maxBytes() {
      return files.limits.maxBytes;
    },
    async put({ data, name, userId }) {
      return referenceTo(await files.put({ data, name, behalf: { person: await personOf(connector, userId) } }));
    },
    async read({ id }) {
      const file = await files.find(id);
      return file && files.read(file);
    },
  };
}

function acceptedAs(result: AcceptResult): Accepted {
  if (result.status === "stale") return result;
  return { status: result.status, agentId: result.agentId, messageId: messageId(result.agentId, result.seq) };
}

function sourceOf(incoming: Omit<IncomingMessage, "text">): Source {
  const { connector, accountId, channelId, messageId: id, revision, sentAt } = incoming;
  return {
    connector,
    channelId,
    messageId: id,
    accountId: accountId || undefined,
    revision,
    sentAt,
  };
}
