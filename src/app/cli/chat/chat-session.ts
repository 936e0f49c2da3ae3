/**
 * A conversation with an engine, without a screen: reads the history, follows its events, sends what the person types, and goes
 * on when the engine dies and returns.
 */
import { errorText } from "../../../core/errors.ts";
import { EngineApi, pathOf } from "../../client/engine-api.ts";
import type { Transport } from "../../client/transport.ts";
import { type AgentEvent, applyEvent, withLiveRun, withOlder } from "./apply-event.ts";
import type { Attachment } from "./attachments.ts";
import { ChatLog, type NoticeOptions } from "./chat-log.ts";
import { type ChatState, EMPTY_CHAT } from "./chat-state.ts";
import { cleanLine } from "./clean-text.ts";
import { insist } from "./insist.ts";
import { joinDeltas } from "./join-deltas.ts";
import { Outgoing } from "./outgoing.ts";
import { patchPending, withoutArrived } from "./pending.ts";
import { type Older, readNewest, readOlder } from "./read-history.ts";
import type { Conversation, TerminalInfo } from "./terminal-info.ts";

export type Connection = "connecting" | "connected" | "lost";

interface Waits {
  readonly run?: { readonly id: string };
  readonly waiting: readonly { readonly seq: number; readonly will: string }[];
}

interface ChatSessionOptions {
  readonly transport: Transport;
  readonly conversation: Conversation;
  /** Something to show has changed. */
  readonly onChange: () => void;
  /** An event arrived that other parts of the chat look at. */
  readonly onEvent?: (type: string) => void;
}

/** It says nothing to a person. */
const RUN_ID = /\brun [0-9a-f-]{36}/u;
const LEAVE_MS = 60_000;

export class ChatSession {
  readonly api: EngineApi;
  readonly conversation: Conversation;
  info: TerminalInfo | undefined;
  connection: Connection = "connecting";
  /** Messages that wait in the inbox of the agent. */
  waiting = 0;
  #agentId: string | undefined;
  #older: Older | undefined;
  #deltas: AgentEvent[] = [];
  #stream: AbortController | undefined;
  readonly #log: ChatLog;
  readonly #outgoing: Outgoing;
  readonly #closing = new AbortController();
  readonly #options: ChatSessionOptions;

  constructor(options: ChatSessionOptions) {
    this.#options = options;
    this.conversation = options.conversation;
    this.#log = new ChatLog(options.onChange);
    // It tries again by itself, and shows that it does.
    this.api = new EngineApi(options.transport, this.#closing.signal, 1);
    this.#outgoing = new Outgoing({
      ...{ api: this.api, conversation: this.conversation, log: this.#log, closed: this.#closing.signal },
      insist: (ask, onLost) => this.#insist(ask, onLost),
      attempt: (work) => this.attempt(work),
      onAccepted: async ({ agentId }) => {
        if (this.#agentId === undefined) await this.attempt(() => this.#follow(agentId));
        void this.#refreshWaits();
      },
      onSettled: () => void this.refreshInfo(),
    });
  }

  get state(): ChatState {
    return this.#log.state;
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
    this.#stream?.abort();
    const unsent = await this.#outgoing.leave(withinMs);
    this.#closing.abort();
    return unsent;
  }

  send(text: string, files: () => Promise<readonly Attachment[]> = async () => []): void {
    this.#outgoing.send(text, files);
  }

  /** Ends the current run. A guest asks for it as anyone does in a chat. */
  async abort(): Promise<void> {
    const agent = this.#agentId;
    if (agent === undefined) return;
    await this.attempt(() =>
      this.info?.terminal === null
        ? this.api.post("/api/terminal/messages", { agent, text: "/stop" })
        : this.api.post(pathOf("api", "agents", agent, "stop")),
    );
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
    this.update((state) => withOlder(state, part.entries));
    return true;
  }

  notice(text: string, options?: NoticeOptions): void {
    this.#log.notice(text, options);
  }

  update(change: (state: ChatState) => ChatState): void {
    this.#log.update(change);
  }

  /** Shows an error instead of throwing it. */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!this.#closing.signal.aborted) this.notice(errorText(error), { isError: true });
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
    this.update((state) => joinDeltas(deltas).reduce((now, event) => applyEvent(now, event, Date.now()), state));
  }

  #readInfo(): Promise<TerminalInfo> {
    const { agent, thread, to } = this.conversation;
    return this.api.get<TerminalInfo>("/api/terminal", { agent, thread, to });
  }

  async #follow(agentId: string): Promise<void> {
    this.#stream?.abort();
    this.#agentId = agentId;
    // Its questions belong to this conversation from now on.
    this.#options.onEvent?.("open");
    const { entries, older, position, leaf } = await this.#insist(() => readNewest(this.api, agentId));
    this.#older = older;
    this.update(({ pending, live, ended }) => {
      const fresh = { ...EMPTY_CHAT, pending, ended };
      const read = entries.reduce((state, one) => applyEvent(state, { type: "entry", data: { ...one } }, 0), fresh);
      return withoutArrived({ ...read, live, position, lastEntry: leaf, isStale: false });
    });
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
    this.update((state) => applyEvent(state, event, Date.now()));
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
    this.update((before) => {
      const state = waits.waiting.reduce((now, { seq, will }) => {
        const found = now.pending.find((one) => one.seq === seq);
        return found ? patchPending(now, found.key, { will: cleanLine(will.replace(RUN_ID, "the run")) }) : now;
      }, before);
      return withLiveRun(state, waits.run?.id);
    });
  }

  #insist<T>(ask: () => Promise<T>, onLost?: () => void): Promise<T> {
    return insist(ask, this.#closing.signal, () => {
      onLost?.();
      if (this.connection === "lost") return;
      this.connection = "lost";
      this.#options.onChange();
    });
  }
}
