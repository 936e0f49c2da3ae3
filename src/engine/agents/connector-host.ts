/**
 * The calls of connectors: posts a person's message or command to the agent of that conversation. Every call asks for admission here
 * (L13), and what a person typed is read here, once.
 */

import { commandsOn } from "../../config/commands-on.ts";
import type { Settings } from "../../config/settings.ts";
import { type Addressed, addressFor, type Conversation } from "../../core/agent/address.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import type { Current } from "../../core/current.ts";
import { cutText } from "../../core/cut-text.ts";
import { TERMINAL_CHANNEL } from "../../core/delivery/route.ts";
import { InvalidInputError } from "../../core/errors.ts";
import { messageId, type RunId } from "../../core/ids.ts";
import {
  hasUntrustedPart,
  type IncomingMessage,
  isTypedText,
  promptText,
  typedText,
} from "../../core/message/incoming-message.ts";
import type { MessageBody, Source } from "../../core/message/message.ts";
import { referenceTo } from "../../core/message/stored-file.ts";
import type { PersonId } from "../../core/people/person.ts";
import type {
  Accepted,
  Arriving,
  Connector,
  ConnectorFiles,
  ConnectorHost,
  DeliveryReceipt,
  IncomingCommand,
  PressedButton,
  PressResult,
} from "../../core/ports/connector.ts";
import { commandBody, readTyped, type TypedInput } from "../commands/read-chat-command.ts";
import type { FileService } from "../files/file-service.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import type { Entry, Pairing } from "../people/pairing.ts";
import type { PostRequest } from "./message-ingress.ts";

/** The characters of a summary line. */
const MAX_SUMMARY_LINE = 500;

type Post = (request: PostRequest) => Promise<AcceptResult>;

export interface HostOptions {
  readonly settings: Current<Settings>;
  readonly files?: FileService;
  /** The current owner of an account. Needed to store files. */
  readonly personOf?: (connector: string, userId: string) => Promise<PersonId>;
  /** The current agent and work of a conversation. Absent: unknown. */
  readonly conversations?: Conversations;
  /** Takes what the channel says about a delivery later. Absent: it is not used. */
  readonly receipt?: (channel: string, receipt: DeliveryReceipt) => Promise<void>;
  /** Who may write. Absent: everyone. */
  readonly pairing?: Pick<Pairing, "entry">;
}

export interface Conversations {
  agentAt(to: Addressed): Promise<AgentRecord | undefined>;
  /** Whether a text is in its session, and that session has no mark of untrusted text (M32). */
  hasSaid(to: Addressed, text: string): Promise<boolean>;
  /** False if it has ended. */
  abort(runId: RunId): Promise<boolean>;
  press(button: PressedButton): Promise<PressResult>;
}

export function hostFor(
  connector: Pick<Connector, "name" | "replayHorizonMs"> & Partial<Pick<Connector, "capabilities">>,
  post: Post,
  options: HostOptions,
): ConnectorHost {
  const addressOf = (conversation: Conversation): Addressed => addressFor(conversation, options.settings.current);
  const common = (incoming: Omit<IncomingMessage, "text">, settings: Settings) => ({
    settings,
    to: addressFor(incoming, settings),
    delivery: incoming.delivery,
    source: sourceOf(incoming),
    sender: { connector: incoming.connector, userId: incoming.userId },
    about: aboutConversation(incoming),
    replayHorizonMs: connector.replayHorizonMs,
  });
  const postMessage = async (
    incoming: Omit<IncomingMessage, "text">,
    { text, queue }: NonNullable<TypedInput["message"]>,
    settings: Settings,
  ): Promise<Accepted> => {
    const { files, userId, senderName, summaryLine, others } = incoming;
    const decoration = await withKnownQuote(incoming, settings);
    const untrusted = incoming.untrusted || hasUntrustedPart(decoration) || undefined;
    const first = common(incoming, settings);
    return acceptedAs(
      await post({
        ...first,
        sender: { ...first.sender, others, untrusted },
        longText: "file",
        body: {
          kind: "user",
          text: promptText(text, decoration),
          sender: { id: userId, name: senderName || undefined },
          files: files && [...files],
          replyToId: incoming.replyToId || undefined,
          queue: queue ?? incoming.queue,
          queueDefault: incoming.queueDefault,
          burst: incoming.burst,
          summaryLine: summaryLine && cutText(summaryLine, MAX_SUMMARY_LINE),
        },
      }),
    );
  };
  /** A quote of words that are in the conversation's unmarked session adds nothing new to it (M32). */
  const withKnownQuote = async ({ decoration, ...at }: Omit<IncomingMessage, "text">, settings: Settings) => {
    const { quote } = decoration ?? {};
    if (!quote || quote.typed || !options.conversations) return decoration;
    if (!(await options.conversations.hasSaid(addressFor(at, settings), quote.text))) return decoration;
    return { ...decoration, quote: { ...quote, typed: true as const } };
  };
  /**
   * A message after a command is a message of its own. After a crash in between, the channel repeats both: the command is then
   * a duplicate, and the message is not lost.
   */
  const postTyped = async (
    incoming: Omit<IncomingMessage, "text">,
    { command, message }: TypedInput,
    settings: Settings,
  ): Promise<Accepted> => {
    const first = command && acceptedAs(await post({ ...common(incoming, settings), body: command }));
    if (first && !message) return first;
    const messageId = first ? `${incoming.messageId}#text` : incoming.messageId;
    return postMessage({ ...incoming, messageId }, message ?? { text: typedText("") }, settings);
  };
  const entryOf = async (arriving: Arriving): Promise<Entry> => {
    // Otherwise one connector would speak for the people of another.
    if (arriving.connector !== connector.name) {
      const [its, other] = [connector.name, String(arriving.connector)].map((name) =>
        JSON.stringify(name.slice(0, 80)),
      );
      throw new InvalidInputError(`The connector ${its} cannot accept a message of the connector ${other}.`, {
        hint: `Set \`connector\` to ${its}.`,
      });
    }
    // The socket and the tokens of the terminal admit nobody but the owner.
    if (connector.name === TERMINAL_CHANNEL || !options.pairing) return { let: "in" };
    return options.pairing.entry(arriving);
  };
  /** Undefined if it may come in. */
  const refusal = async (arriving: Arriving): Promise<Accepted | undefined> => {
    const entry = await entryOf(arriving);
    if (entry.let === "in") return undefined;
    return { status: "refused", say: entry.say, buttons: connector.capabilities?.buttons ? entry.buttons : undefined };
  };
  const isKnown = async (at: Conversation): Promise<boolean> =>
    (await refusal({ ...at, text: undefined })) === undefined;
  return {
    files: filesFor(connector.name, options),
    reading() {
      const { commands, limits } = options.settings.current;
      return {
        commands: commandsOn(commands, connector.name),
        maxCharacters: limits.messageCharacters,
      };
    },
    entry: refusal,
    async stopRun(conversation, matches) {
      if (!(await isKnown(conversation))) return false;
      const runId = (await options.conversations?.agentAt(addressOf(conversation)))?.runId;
      return runId !== undefined && matches(runId) && (await options.conversations?.abort(runId)) === true;
    },
    async press(button) {
      const entry = await entryOf(button);
      // The owner answers in a group that is not let in: whether it is.
      const isRefused = entry.let === "out" && !entry.isOwner;
      if (isRefused || !options.conversations) return { say: "You are not known here.", done: false };
      return options.conversations.press(button);
    },
    receipt: async (receipt) => options.receipt?.(connector.name, receipt),
    async groupActivation(conversation) {
      return (await options.conversations?.agentAt(addressOf(conversation)))?.state.groupActivation;
    },
    async note(incoming) {
      if (!(await isKnown(incoming))) return { status: "refused" };
      const body = { kind: "system", text: incoming.text, silent: true } as const;
      return acceptedAs(await post({ ...common(incoming, options.settings.current), delivery: undefined, body }));
    },
    async accept(incoming) {
      const refused = await refusal(incoming);
      if (refused) return refused;
      // Taken once: the message is addressed, read and accepted by the same settings (M37).
      const settings = options.settings.current;
      const { text, names, files = [], decoration } = incoming;
      const on = commandsOn(settings.commands, connector.name) && isTypedText(decoration);
      const hasFiles = files.length > 0 || (decoration?.notes?.length ?? 0) > 0;
      return postTyped(incoming, readTyped(typedText(text), { names, on, hasFiles }), settings);
    },
    async command(incoming) {
      const refused = await refusal({ ...incoming, text: "" });
      if (refused) return refused;
      const { command } = incoming;
      const text = command.name === "reset" ? command.text : command.name === "chat" ? command.message : undefined;
      const settings = options.settings.current;
      const typed = {
        command: bodyOf(command, () => isOwner(incoming, settings.identity.ownerAccounts)),
        message: text ? { text: typedText(text) } : undefined,
      };
      return postTyped(incoming, typed, settings);
    },
  };
}

function bodyOf(command: IncomingCommand["command"], isOwner: () => boolean): MessageBody {
  switch (command.name) {
    case "queue":
      return { kind: "setting", queue: command.settings };
    case "send":
      return {
        kind: "setting",
        ...(isOwner() ? { patch: { sendPolicy: command.policy } } : { refused: "⚙️ Only the owner may use /send." }),
      };
    case "chat":
      return commandBody(command.command, command.text, command.inTurn);
    case "compact":
      return commandBody(command.name, command.instructions);
    case "subagents":
      return commandBody(command.name, command.text);
    default:
      return commandBody(command.name);
  }
}

/** The names of the conversation on its channel. */
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
