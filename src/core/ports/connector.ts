/**
 * The contract of a connector, the adaptor to one channel. A connector acknowledges to its channel only after `accept`
 * has resolved, and submits ids that never change (never display names).
 */

import type { Conversation } from "../agent/address.ts";
import type { SendDecision } from "../agent/send-policy.ts";
import type { Button, DeliveryContext, Payload, SendingClass } from "../delivery/delivery.ts";
import type { FileReference } from "../file-reference.ts";
import type { AgentId, DeliveryId, MessageId, RunId } from "../ids.ts";
import type { IncomingMessage, SubmittedText } from "../message/incoming-message.ts";
import type { QueueSettings } from "../message/queue.ts";

export interface ConnectorCapabilities {
  readonly sendText: boolean;
  /** Absent: a line in the text names each file instead. */
  readonly sendFiles?: { readonly modes: readonly ("document" | "photo" | "video" | "voice")[] };
  readonly reactions?: boolean;
  readonly typing?: boolean;
  readonly edits?: boolean;
  /** Shows buttons under a text. Others get a list of them in the text. */
  readonly buttons?: boolean;
  /** A longer text is split, and each part is a separate delivery. Absent: no limit. */
  readonly maxTextLength?: number;
  /** Instructions to the model on how to write for this channel. */
  readonly formatPrompt?: string;
}

/** A command that the channel itself names, such as one of a menu. Commands that people type are read by `accept`. */
export type IncomingCommand = Omit<IncomingMessage, "text" | "files"> & {
  readonly command:
    | { readonly name: "reset"; readonly text?: SubmittedText }
    | { readonly name: "stop" }
    | { readonly name: "compact"; readonly instructions?: string }
    /** About the agent's children: `text` is the command. */
    | { readonly name: "subagents"; readonly text: string }
    /** Queue settings; `null`: back to the default. */
    | { readonly name: "queue"; readonly settings: Partial<QueueSettings> | null }
    /** Whether the agent may send; `null`: by the rules. Only the owner may change this. */
    | { readonly name: "send"; readonly policy: SendDecision | null }
    /** Any other command of the table, by its name; `message` is one that follows it. */
    | {
        readonly name: "chat";
        readonly command: string;
        readonly text: string;
        readonly inTurn?: true;
        readonly message?: SubmittedText;
      };
};

/**
 * The result of accepting. `stale`: older than the channel's replay horizon, refused with a trace (M5). `refused`: its sender is not
 * known here; nothing is stored, the channel gets its acknowledgement, and the sender gets `say`, if it is there, with
 * `buttons` below it.
 */
export type Accepted =
  | { readonly status: "accepted" | "duplicate"; readonly agentId: AgentId; readonly messageId: MessageId }
  | { readonly status: "stale" }
  | Refused;

export interface Refused {
  readonly status: "refused";
  readonly say?: string;
  readonly buttons?: readonly Button[];
}

/** The file store, as a connector uses it. */
export interface ConnectorFiles {
  /** The limit of one file. A connector need not load a larger one. */
  readonly maxBytes: number;
  /**
   * Stores a file that came with a message of this user; name the result in the message's `files`. Durable when it resolves.
   * The same content under the same name is the same file. Rejects with `TooLargeError` beyond a limit.
   */
  put(file: { readonly data: Uint8Array; readonly name?: string; readonly userId: string }): Promise<FileReference>;
  /** The bytes of a file of a delivery; undefined if it was removed. */
  read(file: Pick<FileReference, "id">): Promise<Uint8Array | undefined>;
}
/** A button of a delivery, pressed by a person in a chat. */
export type PressedButton = Conversation & {
  readonly token: string;
  readonly senderName?: string;
  /** Where the button is shown. */
  readonly delivery: DeliveryContext;
};

export interface PressResult {
  readonly say: string;
  /** The buttons have no use any more. */
  readonly done: boolean;
  /** They are shown instead of the ones that were there. */
  readonly buttons?: readonly Button[];
}

/**
 * A later report of a channel about a delivery. `arrived`: it has it. `failed`: it did not reach the person; the agent
 * reads the reason. `again`: the same, and the connector can send it in another way.
 */
export interface DeliveryReceipt {
  readonly deliveryId: DeliveryId;
  /** The attempt that it is about, as it was sent. A receipt of an earlier one says nothing about the last. Absent: the last one. */
  readonly attempt?: number;
  readonly status: "arrived" | "failed" | "again";
  readonly reason?: string;
  /** As the channel calls the message. */
  readonly receipt?: string;
}

/** The parts of an arrival that decide whether it may come in. Without a text its sender gets no answer. */
export type Arriving = Conversation & Partial<Pick<IncomingMessage, "senderName" | "subject" | "text">>;

interface Reading {
  readonly commands: boolean;
  /** The longest message that is accepted. A connector need not read more of one. */
  readonly maxCharacters: number;
}

/**
 * The calls of a connector. Every call is durable when it resolves; after a rejection the connector must not acknowledge. Every call
 * of a stranger is refused until the owner lets them in.
 */
export interface ConnectorHost {
  /** Accepts what a person typed. A command in the text is carried out, and a message after it is answered. */
  accept(message: IncomingMessage): Promise<Accepted>;
  command(command: IncomingCommand): Promise<Accepted>;
  /** The refusal of a message from there; undefined if it may come in. For what costs something before the message is made. */
  entry?(arriving: Arriving): Promise<Accepted | undefined>;
  /** Ends the run of this conversation that `matches` names. Durable when it resolves; false if it has ended (M28). */
  stopRun?(conversation: Conversation, matches: (runId: RunId) => boolean): Promise<boolean>;
  /** A person pressed a button. Durable when it resolves with the answer to the person. */
  press?(press: PressedButton): Promise<PressResult>;
  /** Records something that needs no answer, such as a reaction. Durable when it resolves. */
  note?(message: IncomingMessage): Promise<Accepted>;
  /** The channel says later how a delivery ended. Durable when it resolves. */
  receipt?(receipt: DeliveryReceipt): Promise<void>;
  /** Whether this group wants to be answered without being addressed; undefined: as the account says. */
  groupActivation?(conversation: Conversation): Promise<"mention" | "always" | undefined>;
  /** Absent: this engine stores no files. */
  readonly files?: ConnectorFiles;
  /** How texts of this connector are read now. Absent: commands are read, and texts may be as long as the program allows. */
  reading?(): Reading;
}

export interface OutgoingDelivery {
  /** The same for all retries: the key of an idempotent channel. */
  readonly id: DeliveryId;
  /** Counts from 1. The engine always sets it. */
  readonly attempt?: number;
  readonly target: DeliveryContext;
  readonly payload: Payload;
}

/**
 * How one send ended. `sent`: the channel has it. `refused`: it will never accept it (bad recipient, blocked). `retry`: it does
 * not have it, try again. `unknown`: it may have it (a timeout after sending). `tell`: the agent reads the reason.
 */
export type SendResult =
  | { readonly status: "sent"; readonly receipt?: string }
  | { readonly status: "refused"; readonly reason: string; readonly tell?: true }
  | { readonly status: "retry"; readonly reason: string; readonly afterMs?: number }
  | { readonly status: "unknown"; readonly reason: string };

export interface ConnectorHealth {
  readonly ok: boolean;
  readonly detail: string;
  /** The last failure, kept after it works again. */
  readonly lastError?: { readonly at: number; readonly text: string };
  /** How old the last message was when it was accepted. */
  readonly lagMs?: number;
  /** The channel waits for a person: a code to scan with the phone, or one to type there. Whoever has it can take the account over. */
  readonly login?: { readonly qr?: string; readonly pairingCode?: string };
}

/** One account of a channel: a bot, a phone number. */
export interface AccountStatus extends ConnectorHealth {
  /** Its name in the configuration. */
  readonly name: string;
  /** As in addresses; absent for the account that is called like its kind. */
  readonly accountId?: string;
  /** `elsewhere`: on another node. `off`: this process does not start it. */
  readonly state: "starting" | "running" | "failing" | "elsewhere" | "off";
}

/** A run whose work is shown while it continues. */
export interface ShownRun {
  readonly runId: RunId;
  readonly agentId: AgentId;
  /** The message of the person that it answers, as the channel calls it. */
  readonly replyToId?: string;
}

/**
 * Shows a run before its answer: typing, or a draft that vanishes by itself. It is not a delivery and leaves no row
 * (M28). No method throws or waits for the channel.
 */
export interface LiveView {
  /** The text so far. */
  text(text: string): void;
  /** The current activity of the run, such as a tool it uses. */
  status(line: string): void;
  close(): void;
}

/** A request of a platform to the gateway, for an account that is called instead of asking. */
export interface ChannelRequest {
  /** The name of the account in the configuration, or that of a connector of the program. */
  readonly account: string;
  readonly method: "GET" | "POST";
  readonly query: Readonly<Record<string, string>>;
  /** By its name in lower case. */
  header(name: string): string | undefined;
  /** The body as it came: a signature is computed over these bytes. Bounded by `gateway.limits.bodyBytes`. */
  readonly raw: Uint8Array;
}

/** The answer to the platform. 401: the secret or the signature is wrong; it is counted like a wrong token. */
export interface ChannelAnswer {
  readonly status: number;
  readonly text?: string;
  /** The media type of the text. Default: plain text. */
  readonly type?: string;
}

/** Marks a connector whose only writer is the owner. No entry point of the package exports it, so a program cannot claim it. */
export const OWNERS_SEAT: unique symbol = Symbol("the owner's seat");

export interface Connector {
  readonly name: string;
  /** Only the own terminal of the engine has it. */
  readonly [OWNERS_SEAT]?: true;
  readonly capabilities: ConnectorCapabilities;
  readonly sendingClass: SendingClass;
  /** How long the channel may redeliver a message; dedupe keys are kept that long. Default 30 days. */
  readonly replayHorizonMs?: number;
  /** True while it, or the account of this address, runs on another node and can send nothing here. */
  isRemote?(target?: DeliveryContext): boolean;
  /**
   * How many milliseconds a send to this address must wait; 0 takes a place in the channel's rate. Asked before a delivery is
   * marked `sending`, so that one that only waits its turn is never unconfirmed.
   */
  admit?(target: DeliveryContext): number;
  /** When groups of this account are answered, as long as no one there has said otherwise. */
  groupActivation?(target: DeliveryContext): "mention" | "always" | undefined;
  /** The accounts of a channel that has several. */
  accounts?(): readonly AccountStatus[];
  /**
   * The address of this connector that gets a delivery to another channel's address; undefined for those it leaves alone.
   * `profile`: of the agent that says it.
   */
  takesOver?(target: DeliveryContext, profile: string | undefined): DeliveryContext | undefined;
  /** Must run on one node at a time: a bot that polls, an account that may be connected once. */
  readonly once?: boolean;
  start(host: ConnectorHost): Promise<void>;
  /** Stops accepting messages; sends in flight may finish. */
  stop(): Promise<void>;
  health(): ConnectorHealth;
  /** Must not throw: every failure is one of the results. */
  send(delivery: OutgoingDelivery, signal: AbortSignal): Promise<SendResult>;
  /** Begins to show that a run works on an answer for this address. */
  view?(target: DeliveryContext, run: ShownRun): LiveView | undefined;
  /**
   * Takes a request of the platform to the gateway. Everything in it is durable when it resolves: the platform is answered afterwards. It
   * may reject; then the platform gets an error and tries again. Any node may get the request, even one that does not run the account, so it may be
   * called before `start`. Undefined: there is no such account, or it is not called.
   */
  receive?(request: ChannelRequest, host: ConnectorHost): Promise<ChannelAnswer | undefined>;
  /** Reconcilable channels only: did this delivery arrive? */
  lookup?(delivery: OutgoingDelivery): Promise<"arrived" | "absent" | "unknown">;
}

export const DEFAULT_REPLAY_HORIZON_MS = 30 * 24 * 60 * 60 * 1000;
