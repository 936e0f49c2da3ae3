/**
 * One open conversation: its entries, what its run does now, and what was sent and is not yet in the history. Entries are durable;
 * pieces of text are not, and a `restart` voids those of the current step. The stream continues after the last event.
 */
import { batch, signal } from "@preact/signals";
import { pathOf } from "../../../src/client-browser.ts";
import { api } from "../api.ts";
import { followEvents, whileVisible } from "../live.ts";
import type { Entry, Placed } from "./entry.ts";

export interface LiveTool {
  readonly name: string;
  readonly text: string;
  readonly isDone: boolean;
  readonly isError: boolean;
}

/** The current activity of the run. */
export interface LiveRun {
  readonly runId: string;
  readonly text: string;
  readonly thinking: string;
  readonly tools: ReadonlyMap<string, LiveTool>;
  /** The run waits for an answer about a call. */
  readonly asks: boolean;
  readonly error?: string;
}

export interface Agent {
  readonly id: string;
  readonly sessionKey: string;
  readonly name: string;
  readonly kind: string;
  readonly profile: string;
  readonly runId: string | null;
  readonly waiting: number;
  readonly leaf?: string;
  readonly nextPos: number;
  readonly stopped: unknown;
  readonly state: Readonly<Record<string, unknown>>;
}

export interface Sent {
  readonly key: string;
  readonly text: string;
  readonly files: readonly string[];
  readonly seq?: number;
}

interface HistoryPage {
  readonly items: readonly { readonly position: number; readonly entry?: Entry }[];
  readonly next: number | null;
}

const PAGE = 60;
/** Older entries leave the page while the newest ones are watched. */
const MOST_KEPT = 400;
/** A thought or an answer that is longer is shown from its end while it is written. */
const MOST_LIVE = 200_000;

export class Chat {
  readonly agent = signal<Agent | undefined>(undefined);
  readonly entries = signal<readonly Placed[]>([]);
  readonly leaf = signal<string | undefined>(undefined);
  readonly older = signal<number | null>(null);
  readonly live = signal<LiveRun | undefined>(undefined);
  readonly sent = signal<readonly Sent[]>([]);
  readonly #name: string;
  readonly #stop = new AbortController();
  #last: string | undefined;
  #leave: (() => void) | undefined;
  #pieces: { text: string; thinking: string } = { text: "", thinking: "" };
  #frame: number | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Rejects if there is no such agent, or the person may not see it. */
  async open(): Promise<void> {
    await this.#read();
    if (this.#stop.signal.aborted) return;
    const { id } = this.agent.value ?? { id: this.#name };
    const path = pathOf("api", "agents", id, "events");
    this.#leave = whileVisible((signal) => {
      void followEvents(path, { signal, after: () => this.#last, onEvent: (event) => this.#onEvent(event) });
    });
  }

  close(): void {
    this.#stop.abort();
    this.#leave?.();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  /** Reads it again from the newest entries on. */
  async reload(): Promise<void> {
    this.#leave?.();
    await this.open();
  }

  async readOlder(): Promise<void> {
    const before = this.older.peek();
    if (before === null) return;
    const page = await this.#history(before);
    const known = this.entries.peek()[0]?.position ?? Number.POSITIVE_INFINITY;
    this.entries.value = [...placed(page).filter(({ position }) => position < known), ...this.entries.peek()];
    this.older.value = page.next;
  }

  /** Shows a message that the page has sent, until the history contains it. */
  add(sent: Sent): void {
    this.sent.value = [...this.sent.peek().filter(({ key }) => key !== sent.key), sent];
    if (sent.seq !== undefined) this.#settle(this.entries.peek());
  }

  drop(key: string): void {
    this.sent.value = this.sent.peek().filter((one) => one.key !== key);
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop;
    const [agent, page] = await Promise.all([
      api.get<Agent>(pathOf("api", "agents", this.#name), {}, signal),
      this.#history(undefined),
    ]);
    batch(() => {
      this.agent.value = agent;
      this.leaf.value = agent.leaf;
      this.entries.value = placed(page);
      this.older.value = page.next;
      this.live.value = agent.runId === null ? undefined : fresh(agent.runId);
      this.#settle(this.entries.value);
    });
    const newest = page.items[0]?.position;
    this.#last = newest === undefined ? undefined : `-.0.0.0.${newest}`;
    const leaf = placed(page).at(-1)?.entry.id;
    // An entry may have been added between the two requests.
    if (agent.leaf !== undefined && !page.items.some(({ entry }) => entry?.id === agent.leaf)) this.leaf.value = leaf;
  }

  #history(before: number | undefined, id = this.agent.peek()?.id ?? this.#name): Promise<HistoryPage> {
    return api.get(pathOf("api", "agents", id, "history"), { limit: PAGE, before }, this.#stop.signal);
  }

  #onEvent({
    id,
    type,
    data,
  }: {
    id: string | undefined;
    type: string;
    data: Readonly<Record<string, unknown>>;
  }): void {
    this.#last = id ?? this.#last;
    if (type === "delta") this.#addPiece(data);
    else {
      this.#flush();
      batch(() => this.#apply(type, data));
    }
  }

  #apply(type: string, data: Readonly<Record<string, unknown>>): void {
    const runId = String(data.runId ?? this.live.peek()?.runId ?? "");
    const live = this.live.peek() ?? fresh(runId);
    const callId = String(data.callId ?? "");
    switch (type) {
      case "entry":
        this.#append({ position: Number(data.position), entry: data.entry as Entry });
        return;
      case "start":
        this.live.value = fresh(runId);
        return;
      case "restart":
      case "step":
        this.live.value = { ...fresh(runId), asks: type === "restart" && live.asks };
        return;
      case "tool_start":
        this.#setTool(live, callId, { name: String(data.name), text: "", isDone: false, isError: false });
        return;
      case "tool_update":
        this.#setTool(live, callId, { ...toolOf(live, callId), text: String(data.text ?? "") });
        return;
      case "tool_end":
        this.#setTool(live, callId, { ...toolOf(live, callId), isDone: true, isError: data.isError === true });
        return;
      case "approval":
        this.live.value = { ...live, asks: true };
        return;
      case "error":
        this.live.value = { ...live, error: String(data.message ?? "") };
        return;
      case "end":
        this.live.value = undefined;
        return;
    }
  }

  #setTool(live: LiveRun, callId: string, tool: LiveTool): void {
    this.live.value = { ...live, asks: false, tools: new Map([...live.tools, [callId, tool]]) };
  }

  #append(one: Placed): void {
    const before = this.entries.peek();
    if ((before.at(-1)?.position ?? -1) >= one.position) return;
    const all = [...before, one];
    const kept = all.length > MOST_KEPT ? all.slice(-MOST_KEPT / 2) : all;
    if (kept.length < all.length) this.older.value = kept[0]?.position ?? null;
    this.entries.value = kept;
    this.leaf.value = one.entry.id;
    this.#settle([one]);
    if (one.entry.role !== "assistant") return;
    const live = this.live.peek();
    if (live) this.live.value = { ...live, text: "", thinking: "" };
  }

  #settle(entries: readonly Placed[]): void {
    const seqs = new Set(entries.flatMap(({ entry }) => entry.seqs ?? []));
    const left = this.sent.peek().filter(({ seq }) => seq === undefined || !seqs.has(seq));
    if (left.length < this.sent.peek().length) this.sent.value = left;
  }

  /** Pieces arrive faster than a screen shows them. */
  #addPiece(data: Readonly<Record<string, unknown>>): void {
    const stream = data.stream === "thinking" ? "thinking" : "text";
    this.#pieces[stream] += String(data.text ?? "");
    if (!this.live.peek()) this.live.value = fresh(String(data.runId ?? ""));
    this.#frame ??= requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const { text, thinking } = this.#pieces;
    if (text === "" && thinking === "") return;
    this.#pieces = { text: "", thinking: "" };
    const live = this.live.peek() ?? fresh("");
    this.live.value = {
      ...live,
      text: (live.text + text).slice(-MOST_LIVE),
      thinking: (live.thinking + thinking).slice(-MOST_LIVE),
    };
  }
}

const fresh = (runId: string): LiveRun => ({ runId, text: "", thinking: "", tools: new Map(), asks: false });

const toolOf = (live: LiveRun, callId: string): LiveTool =>
  live.tools.get(callId) ?? { name: "", text: "", isDone: false, isError: false };

/** Oldest first. */
const placed = ({ items }: HistoryPage): readonly Placed[] =>
  items.flatMap(({ position, entry }) => (entry ? [{ position, entry }] : [])).reverse();
