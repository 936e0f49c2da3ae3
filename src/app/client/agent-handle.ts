/** One agent, as a program uses it. Creating a handle does nothing: the first message to a new conversation creates its agent. */

import type { StatePatch } from "../../core/agent/patch-state.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { Entry } from "../../core/history/entry.ts";
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import type { List } from "../../core/list.ts";
import { LONG_TEXT_NAME, longTextShown } from "../../core/message/long-text.ts";
import type { Message, MessageState } from "../../core/message/message.ts";
import type { QueueSettings } from "../../core/message/queue.ts";
import type { UnansweredMessage } from "../../core/message/unanswered-message.ts";
import type { WhatWaits } from "../../core/run/what-waits.ts";
import { type Answer, answeredText, type Receipt } from "./answer.ts";
import { askObject } from "./ask-object.ts";
import { checkedId } from "./checked-options.ts";
import { type EngineApi, newKey, pathOf } from "./engine-api.ts";
import { type GivenFile, storeGiven } from "./files-resource.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { type AnswerEvent, answerEvents } from "./stream-answer.ts";

export interface SendOptions {
  /** The same id again is the same message: it is accepted and answered once. Default: a new one. */
  readonly id?: string;
  /** Stored first, for the user who sends the message. Bytes, a `Blob`, or a file of `rookery.files`; a path is never a file. */
  readonly files?: readonly GivenFile[];
  /** How the queue treats it while the agent is busy. */
  readonly queue?: Partial<QueueSettings>;
  readonly signal?: AbortSignal;
}

export interface AskOptions extends SendOptions {
  /** Ends the wait, not the run: ask again with the same id to get the answer. */
  readonly signal?: AbortSignal;
}

const SEND_OPTIONS: KeyTable<SendOptions> = { id: true, files: true, queue: true, signal: true };

interface Page {
  readonly limit?: number;
  readonly before?: number;
}

export interface HistoryPage {
  /** Newest first. `broken`: a line that cannot be read, and why. */
  readonly items: readonly {
    readonly position: number;
    readonly entry?: Entry;
    readonly broken?: string;
    /** The broken line itself. */
    readonly line?: string;
    /** Messages that got no answer: those the entry records, and those without an entry that came after them. */
    readonly unanswered?: readonly UnansweredMessage[];
  }[];
  /** Send it as `before` for the next page; null at the end. */
  readonly next: number | null;
}

interface Transcript {
  readonly name: string;
  readonly text: string;
  /** Lines of the history that could not be written, and why. */
  readonly skipped: readonly { readonly line: number; readonly reason: string }[];
}

interface Accepted {
  readonly agentId: string;
  readonly seq: number;
  readonly messageId: string;
  readonly answer?: Answer | null;
}

interface Sent {
  readonly text: string;
  readonly [field: string]: unknown;
}

interface MessageView {
  readonly message: { readonly runId?: string; readonly state: string };
  readonly answer: Answer | null;
}

const WAIT_SECONDS = 50;
/** Bytes of a text in a request, below the default of `gateway.limits.bodyBytes`. */
const MAX_TEXT = 950_000;
const bytesIn = (text: string): number => (text.length * 3 <= MAX_TEXT ? 0 : new TextEncoder().encode(text).length);

/** An agent, as `rookery.agent(name)` and `rookery.permanent(name)` return it. It does nothing until a method is called. */
export class AgentHandle {
  /** As the API names it: a session key or an id. */
  readonly name: string;
  readonly #api: EngineApi;
  readonly #sender: { readonly id: string } | undefined;

  /** `user`: whose conversation it is, if it is that of an API user. */
  constructor(api: EngineApi, name: string, user?: string) {
    this.#api = api;
    this.name = name;
    this.#sender = user === undefined ? undefined : { id: user };
  }

  /**
   * Sends a message. When it resolves the message is durable: it is answered, also after a crash. With `mailbox` the answer goes
   * to the mailbox of the user too, where it waits until it is acknowledged.
   */
  async send(text: string, options: SendOptions & { readonly mailbox?: boolean } = {}): Promise<Receipt> {
    assertKnownKeys("send()", options, { ...SEND_OPTIONS, mailbox: true });
    const answerTo = options.mailbox ? "mailbox" : "caller";
    return this.#receipt(await this.#post({ text, queue: options.queue, answerTo }, options));
  }

  /**
   * Sends a message and waits for its answer. When it resolves, message and answer are durable. Throws `RunFailedError` if the run
   * did not answer. With `output` it resolves with a value that the schema accepts, or throws `OutputInvalidError`.
   */
  ask(text: string, options?: AskOptions): Promise<string>;
  ask<T>(text: string, options: AskOptions & { readonly output: StandardSchema<T> }): Promise<T>;
  async ask<T>(text: string, options: AskOptions & { readonly output?: StandardSchema<T> } = {}): Promise<string | T> {
    assertKnownKeys("ask()", options, { ...SEND_OPTIONS, output: true });
    const { output, ...rest } = options;
    if (!output) return this.#answer(text, rest);
    const id = rest.id ?? newKey();
    return askObject(text, output, (question, n) =>
      this.#answer(question, { ...rest, id: n === 1 ? id : `${id}#${n}` }),
    );
  }

  /**
   * Sends a message and yields the events of the run that answers it. The message is durable before the first event. To continue
   * a stream, call it with the same text and `id`, and with the id of the last event as `after`.
   */
  async *stream(text: string, options: SendOptions & { readonly after?: string } = {}): AsyncGenerator<AnswerEvent> {
    assertKnownKeys("stream()", options, { ...SEND_OPTIONS, after: true });
    const { after, signal, queue = EACH } = options;
    const { agentId, seq } = await this.#post({ text, queue, answerTo: "caller" }, options);
    const path = pathOf("api", "agents", agentId, "messages", seq, "events");
    yield* answerEvents(this.#api.events(path, { after, signal }));
  }

  /** A page of the history, newest entries first. Reads what is durable. */
  history(page: Page = {}): Promise<HistoryPage> {
    return this.#api.get(this.#path("history"), { ...page });
  }

  /** What waits in the inbox, and what the queue will do with it. Reads what is durable. */
  inbox(): Promise<WhatWaits> {
    return this.#api.get(this.#path("inbox"));
  }

  /** Every message and how it ended, newest first. Send `next` as `before` for the next page. Reads what is durable. */
  messages({ state, ...page }: Page & { readonly state?: MessageState | readonly MessageState[] } = {}) {
    const query = { ...page, state: state === undefined ? undefined : [state].flat().join(",") };
    return this.#api.get<List<Message, number>>(this.#path("messages"), query);
  }

  /** A session as the text of a session file: the current one, or the one you name. Reads what is durable. */
  transcript(options: { readonly session?: string; readonly version?: 2 | 3; readonly cwd?: string } = {}) {
    return this.#api.get<Transcript>(this.#path("transcript"), { ...options });
  }

  /** The settings of the agent. Reads what is durable. */
  async state(): Promise<AgentState> {
    return (await this.#api.get<{ state: AgentState }>(this.#path())).state;
  }

  /** Overrides settings; null removes an override. Durable in the inbox when it resolves; in force after the messages before it. */
  async patch(patch: StatePatch): Promise<Receipt> {
    return this.#receipt(await this.#api.patch<Accepted>(this.#path("state"), patch));
  }

  /** Starts a new session and aborts the current run. Durable in the inbox when it resolves. */
  reset(options?: { readonly id?: string }): Promise<Receipt> {
    return this.#command("reset", options);
  }

  /** Aborts the current run. Durable in the inbox when it resolves. */
  stop(options?: { readonly id?: string }): Promise<Receipt> {
    return this.#command("stop", options);
  }

  /** Replaces the conversation so far by a summary. Durable in the inbox when it resolves. */
  compact({ id, ...body }: { readonly instructions?: string; readonly id?: string } = {}) {
    return this.#command("compact", { id }, body);
  }

  /** Goes back to an entry of the current session. The next message continues from there. Durable when it resolves. */
  async branch(entryId: string, { id, ...body }: { readonly summary?: string; readonly id?: string } = {}) {
    await this.#api.post(this.#path("branch"), { entryId, ...body }, { id });
  }

  /** Stops the agent and its descendants, and removes it for ever. Durable when it resolves. */
  async remove(): Promise<void> {
    await this.#api.delete(this.#path());
  }

  async #answer(text: string, { queue = EACH, ...options }: AskOptions): Promise<string> {
    const body = { text, queue, answerTo: "caller", waitSeconds: WAIT_SECONDS };
    const accepted = await this.#post(body, options);
    return answeredText(accepted.answer ?? (await this.#result(accepted, options.signal)));
  }

  /** A text that is too long for a request is stored as a file first, as the engine does with one that is too long for a message. */
  async #post(body: Sent, { id, signal, files: given = [] }: SendOptions): Promise<Accepted> {
    const isLong = body.text.length > MAX_TEXT || bytesIn(JSON.stringify(body.text)) > MAX_TEXT;
    const whole = { data: new Blob([body.text]), name: LONG_TEXT_NAME };
    const files = await storeGiven(this.#api, isLong ? [...given, whole] : given, { user: this.#sender?.id, signal });
    const text = isLong ? longTextShown(body.text) : body.text;
    const message = { ...body, text, files, sender: this.#sender };
    return this.#api.post(this.#path("messages"), message, { id: id ?? newKey(), signal });
  }

  async #command(name: string, options: { readonly id?: string } = {}, body?: object): Promise<Receipt> {
    return this.#receipt(await this.#api.post<Accepted>(this.#path(name), body, checkedId(options)));
  }

  #receipt(accepted: Accepted): Receipt {
    const { agentId, seq, messageId } = accepted;
    return {
      agentId,
      seq,
      messageId,
      runId: () => this.#runId(accepted),
      result: () => this.#result(accepted),
    };
  }

  /** The first event of the stream of a message comes when a run has taken it. */
  async #runId({ agentId, seq }: Accepted): Promise<string | undefined> {
    const path = pathOf("api", "agents", agentId, "messages", seq);
    const { message, answer } = await this.#api.get<MessageView>(path);
    if (message.runId !== undefined || answer) return message.runId;
    for await (const _ of this.#api.events(`${path}/events`)) break;
    return (await this.#api.get<MessageView>(path)).message.runId;
  }

  async #result({ agentId, seq }: Accepted, signal?: AbortSignal): Promise<Answer> {
    const path = pathOf("api", "agents", agentId, "messages", seq);
    for (;;) {
      const { answer } = await this.#api.get<MessageView>(path, { waitSeconds: WAIT_SECONDS }, signal);
      if (answer) return answer;
    }
  }

  #path(...more: readonly string[]): string {
    return pathOf("api", "agents", this.name, ...more);
  }
}

/** A message that a caller waits for is answered by a run of its own. */
const EACH: Partial<QueueSettings> = { mode: "queue" };
