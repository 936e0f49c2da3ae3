/**
 * A conversation with an engine, without a screen: reads the history, follows its events, sends what the person types, and goes
 * on when the engine dies and returns. A message has a key, so it is sent again until it is accepted, and accepted once (L1).
 */
import { setTimeout as pause } from "node:timers/promises";
import { EngineApi, newKey, pathOf } from "../../client/engine-api.ts";
import type { Transport } from "../../client/transport.ts";
import { type Attachment, storeFiles } from "./attachments.ts";
import type { Block } from "./blocks.ts";
import {
  type AgentEvent,
  applyEvent,
  type ChatState,
  EMPTY_CHAT,
  patchPending,
  type Settled,
  withBlock,
  withOlder,
  withPending,
  withSettled,
} from "./chat-state.ts";
import { clean, cleanLine } from "./clean-text.ts";
import { errorLine, insist } from "./insist.ts";
import { joinDeltas } from "./join-deltas.ts";
import { type Older, readNewest, readOlder } from "./read-history.ts";
import { splitText } from "./split-markdown.ts";
import type { Conversation, TerminalInfo } from "./terminal-info.ts";

export type Connection = "connecting" | "connected" | "lost";

interface Waits {
  readonly run?: { readonly id: string };
  readonly waiting: readonly { readonly seq: number; readonly will: string }[];
}

export interface ChatSessionOptions {
  readonly transport: Transport;
  readonly user: string;
  readonly conversation: Conversation;
  /** Something to show has changed. */
  readonly onChange: () => void;
  /** An event arrived that other parts of the chat look at. */
  readonly onEvent?: (type: string) => void;
}

/** It says nothing to a person. */
const RUN_ID = /\brun [0-9a-f-]{36}/u;
const SETTLE_SECONDS = 30;
const LEAVE_MS = 60_000;

export class ChatSession {
  readonly api: EngineApi;
  readonly user: string;
  readonly conversation: Conversation;
  state: ChatState = EMPTY_CHAT;
  info: TerminalInfo | undefined;
  connection: Connection = "connecting";
  /** Messages that wait in the inbox of the agent. */
  waiting = 0;
  #agentId: string | undefined;
  #older: Older | undefined;
  #sending: Promise<void> = Promise.resolve();
  #deltas: AgentEvent[] = [];
  #stream: AbortController | undefined;
  #isLeft = false;
  readonly #closing = new AbortController();
  readonly #options: ChatSessionOptions;

  constructor(options: ChatSessionOptions) {
    this.#options = options;
    this.user = options.user;
    this.conversation = options.conversation;
    // It tries again by itself, and shows that it does.
    this.api = new EngineApi(options.transport, this.#closing.signal, 1);
  }

  get agentId(): string | undefined {
    return this.#agentId;
  }

  get hasOlder(): boolean {
    return this.#older !== undefined;
  }

  /** Reads the conversation and follows it. Resolves when its newest part is there. */
  async open(): Promise<void> {
    this.info = await this.#insist(() => this.#readInfo());
    this.connection = "connected";
    if (this.info.agentId !== null) await this.#follow(this.info.agentId);
    this.#options.onChange();
  }

  /** Stops to follow. What was typed is still sent. Returns what could not be sent in time. */
  async leave(withinMs = LEAVE_MS): Promise<readonly string[]> {
    this.#isLeft = true;
    this.#stream?.abort();
    await Promise.race([this.#sending, pause(withinMs, undefined, { ref: false })]);
    this.#closing.abort();
    return this.state.pending.filter(({ state }) => state !== "accepted").map(({ text }) => text);
  }

  /** Sends a text: in order, again until it is accepted. */
  send(text: string, files: () => Promise<readonly Attachment[]> = async () => []): void {
    const key = newKey();
    this.#set(withPending(this.state, { key, text: clean(text), state: "sending" }));
    this.#sending = this.#sending.then(() => this.#deliver(key, text, files));
  }

  /** Ends the current run. */
  async abort(): Promise<void> {
    if (this.#agentId === undefined) return;
    await this.attempt(() => this.api.post(pathOf("api", "agents", this.#agentId ?? "", "stop")));
  }

  /** Goes back before an entry: the next message continues from there. */
  async branch(entryId: string): Promise<void> {
    const agent = this.#agentId;
    if (agent === undefined) return;
    await this.attempt(async () => {
      await this.api.post(pathOf("api", "agents", agent, "branch"), { entryId });
      await this.#follow(agent);
    });
  }

  async loadOlder(): Promise<boolean> {
    const [agent, older] = [this.#agentId, this.#older];
    if (agent === undefined || !older) return false;
    this.#older = undefined;
    const part = await this.attempt(() => readOlder(this.api, agent, older));
    if (!part) {
      this.#older = older;
      return false;
    }
    this.#older = part.older;
    this.#set(withOlder(this.state, part.entries));
    return true;
  }

  /** Shows something that is in no history. */
  notice(
    text: string,
    more: { readonly title?: string; readonly isError?: boolean; readonly key?: string } = {},
  ): void {
    const { title, isError = false, key = newKey() } = more;
    const pieces = splitText(clean(text));
    const block: Block = {
      kind: "notice",
      key,
      pieces,
      isError,
      title: title === undefined ? undefined : cleanLine(title),
    };
    this.#set(withBlock(this.state, block));
  }

  update(change: (state: ChatState) => ChatState): void {
    this.#set(change(this.state));
  }

  /** Shows an error instead of throwing it. */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!this.#closing.signal.aborted) this.notice(errorLine(error), { isError: true });
      return undefined;
    }
  }

  async refreshInfo(): Promise<void> {
    const info = await this.#readInfo().catch(() => undefined);
    if (info) this.info = info;
    await this.#refreshWaits();
    this.#options.onChange();
  }

  /** Deltas are put together until the screen is drawn. */
  flush(): void {
    const deltas = this.#deltas;
    if (deltas.length === 0) return;
    this.#deltas = [];
    for (const event of joinDeltas(deltas)) this.state = applyEvent(this.state, event, Date.now());
  }

  #readInfo(): Promise<TerminalInfo> {
    const { agent, thread } = this.conversation;
    return this.api.get<TerminalInfo>("/api/terminal", { user: this.user, agent, thread });
  }

  async #follow(agentId: string): Promise<void> {
    this.#stream?.abort();
    this.#agentId = agentId;
    const { entries, older, position, leaf } = await this.#insist(() => readNewest(this.api, agentId));
    const { pending, live, ended } = this.state;
    const fresh = { ...EMPTY_CHAT, pending, ended };
    const read = entries.reduce((state, one) => applyEvent(state, { type: "entry", data: { ...one } }, 0), fresh);
    this.#older = older;
    this.#set({ ...read, live, position, lastEntry: leaf, isStale: false });
    const stream = new AbortController();
    this.#stream = stream;
    void this.#listen(agentId, `-.0.0.0.${position}`, stream.signal);
  }

  async #listen(agentId: string, after: string, signal: AbortSignal): Promise<void> {
    const path = pathOf("api", "agents", agentId, "events");
    const onConnection = (state: "open" | "lost"): void => this.#connected(state);
    try {
      for await (const { type, data } of this.api.events(path, { after, signal, onConnection, keepTrying: true })) {
        if (signal.aborted) return;
        this.#on({ type, data });
      }
    } catch (error) {
      if (!signal.aborted && !this.#closing.signal.aborted) {
        await this.attempt(async () => Promise.reject(error));
        this.connection = "lost";
        this.#options.onChange();
      }
    }
  }

  #connected(state: "open" | "lost"): void {
    const before = this.connection;
    this.connection = state === "open" ? "connected" : "lost";
    if (state === "open") void this.refreshInfo();
    if (before !== this.connection) {
      this.#options.onChange();
      this.#options.onEvent?.(state);
    }
  }

  #on(event: AgentEvent): void {
    if (event.type === "delta") {
      this.#deltas.push(event);
      this.#options.onChange();
      return;
    }
    this.flush();
    this.#set(applyEvent(this.state, event, Date.now()));
    if (event.type === "end" || event.type === "start" || event.type === "step") void this.#refreshWaits();
    if (event.type === "end") void this.refreshInfo();
    this.#options.onEvent?.(event.type);
    if (this.state.isStale && this.#agentId !== undefined) void this.#follow(this.#agentId);
  }

  /** What waits and what will happen to it. A run that ended while the connection was lost is over. */
  async #refreshWaits(): Promise<void> {
    if (this.#agentId === undefined) return;
    const waits = await this.api.get<Waits>(pathOf("api", "agents", this.#agentId, "inbox")).catch(() => undefined);
    if (!waits) return;
    this.waiting = waits.waiting.length;
    let { state } = this;
    for (const { seq, will } of waits.waiting) {
      const found = state.pending.find((one) => one.seq === seq);
      if (found) state = patchPending(state, found.key, { will: cleanLine(will.replace(RUN_ID, "the run")) });
    }
    if (state.live && waits.run?.id !== state.live.runId) state = { ...state, live: undefined };
    this.#set(state);
  }

  async #deliver(key: string, text: string, attached: () => Promise<readonly Attachment[]>): Promise<void> {
    const { agent, thread } = this.conversation;
    const post = async () => {
      const files = await storeFiles(this.api, await attached());
      const body = { user: this.user, agent, thread, text, files };
      return this.api.post<{ messages: readonly Sent[] }>("/api/terminal/messages", body, { id: key });
    };
    const hold = (): void => this.#set(patchPending(this.state, key, { state: "held" }));
    const answer = await this.attempt(() => this.#insist(post, hold));
    const sent = answer?.messages.at(-1);
    if (!sent) {
      this.#set({ ...this.state, pending: this.state.pending.filter((one) => one.key !== key) });
      return;
    }
    this.#set(patchPending(this.state, key, { state: "accepted", seq: sent.seq }));
    if (this.#isLeft) return;
    if (this.#agentId === undefined) await this.attempt(() => this.#follow(sent.agentId));
    void this.#refreshWaits();
    void this.#settle(key, sent);
  }

  async #settle(key: string, { agentId, seq }: Sent): Promise<void> {
    const path = pathOf("api", "terminal", "messages", agentId, seq);
    for (;;) {
      const settled = await this.#insist(() =>
        this.api.get<Settled & { settled: boolean }>(path, { waitSeconds: SETTLE_SECONDS }),
      ).catch(() => undefined);
      if (!settled || this.#closing.signal.aborted) return;
      if (!settled.settled) continue;
      // What a run said comes with the stream, which may be a little later.
      this.#set(withSettled(this.state, key, settled));
      void this.refreshInfo();
      return;
    }
  }

  #insist<T>(ask: () => Promise<T>, onLost?: () => void): Promise<T> {
    return insist(ask, this.#closing.signal, () => {
      onLost?.();
      if (this.connection === "lost") return;
      this.connection = "lost";
      this.#options.onChange();
    });
  }

  #set(state: ChatState): void {
    this.state = state;
    this.#options.onChange();
  }
}

interface Sent {
  readonly agentId: string;
  readonly seq: number;
}
