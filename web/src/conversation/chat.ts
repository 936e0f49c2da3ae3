/**
 * One open conversation: its entries, what its run does now, and what was sent and is not yet in the history. Entries are durable;
 * pieces of text are not, and a `restart` voids those of the current step. The stream continues after the last event.
 */
import { batch, signal } from "@preact/signals";
import { pathOf } from "../../../src/client-browser.ts";
import { api } from "../api.ts";
import type { StoredFile } from "../files.ts";
import { followEvents, whileVisible } from "../live.ts";
import { type Entry, type Placed, saidIn, textOf } from "./entry.ts";

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

/** A message from this page that the history does not contain yet. */
export interface Sent {
  /** The same for every try, so that a message is accepted once. */
  readonly key: string;
  readonly text: string;
  readonly files: readonly Pick<StoredFile, "id" | "name">[];
  /** Into the current run, or after it. */
  readonly mode: "steer" | "queue";
  /** Known when the engine has accepted it. */
  readonly seq?: number;
  /** The run that was in progress when it was sent. */
  readonly during?: string;
  /** Why it was not accepted, as far as this page knows. */
  readonly problem?: string;
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
  #sends: Promise<void> = Promise.resolve();
  /** Counts reads and run events: a late answer about an earlier state is ignored. */
  #opens = 0;
  #runEvents = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Rejects if there is no such agent, or the person may not see it. */
  async open(): Promise<void> {
    this.#opens += 1;
    const open = this.#opens;
    this.#leave?.();
    this.#leave = undefined;
    const { signal } = this.#stop;
    const isCurrent = (): boolean => !signal.aborted && open === this.#opens;
    const read = await Promise.all([
      api.get<Agent>(pathOf("api", "agents", this.#name), {}, signal),
      this.#history(undefined),
    ]).catch((error) => {
      if (isCurrent()) throw error;
    });
    if (!read || !isCurrent()) return;
    const [agent, page] = read;
    this.#show(agent, page);
    this.#leave = whileVisible((visible) => {
      void followEvents(pathOf("api", "agents", agent.id, "events"), {
        signal: visible,
        after: () => this.#last,
        onEvent: (event) => this.#onEvent(event),
        onConnection: (state) => {
          if (state === "live") void this.#checkRun(agent.id);
        },
      });
    });
  }

  close(): void {
    this.#stop.abort();
    this.#leave?.();
    this.#forgetPieces();
  }

  async readOlder(): Promise<void> {
    const before = this.older.peek();
    if (before === null) return;
    const page = await this.#history(before);
    // Another read was first, or entries have left the page.
    if (before !== this.older.peek()) return;
    const known = this.entries.peek()[0]?.position ?? Number.POSITIVE_INFINITY;
    this.entries.value = [...placed(page).filter(({ position }) => position < known), ...this.entries.peek()];
    this.older.value = page.next;
  }

  /** Shows a message that the page has sent, until the history contains it. Changes one that is shown in its place. */
  add(sent: Sent): void {
    const before = this.sent.peek();
    const isShown = before.some(({ key }) => key === sent.key);
    this.sent.value = isShown ? before.map((one) => (one.key === sent.key ? sent : one)) : [...before, sent];
    if (sent.seq !== undefined) this.#settle(this.entries.peek());
  }

  /** The same for the outcome of a try, unless the history had the message first. */
  update(sent: Sent): void {
    if (this.sent.peek().some(({ key }) => key === sent.key)) this.add(sent);
  }

  /** Messages reach the engine in the order in which they were written. `send` must not reject. */
  inTurn(send: () => Promise<void>): Promise<void> {
    this.#sends = this.#sends.then(send);
    return this.#sends;
  }

  drop(key: string): void {
    this.sent.value = this.sent.peek().filter((one) => one.key !== key);
  }

  #show(agent: Agent, page: HistoryPage): void {
    this.#forgetPieces();
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

  /** The stream repeats no end of a run that the page has missed. */
  async #checkRun(id: string): Promise<void> {
    const [open, events] = [this.#opens, this.#runEvents];
    if (!this.live.peek()) return;
    const agent = await api.get<Agent>(pathOf("api", "agents", id), {}, this.#stop.signal).catch(() => undefined);
    if (!agent || open !== this.#opens || events !== this.#runEvents) return;
    if (agent.runId === null) this.live.value = undefined;
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
    if (type !== "entry") this.#runEvents += 1;
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
    this.#settle([one], true);
    if (one.entry.role !== "assistant") return;
    const live = this.live.peek();
    if (live) this.live.value = { ...live, text: "", thinking: "" };
  }

  /** The history may have a message before the engine has said that it accepted it: one with the same text is the same. */
  #settle(entries: readonly Placed[], isNew = false): void {
    const seqs = new Set(entries.flatMap(({ entry }) => entry.seqs ?? []));
    const said = isNew
      ? entries.flatMap(({ entry }) => (entry.role === "user" ? [saidIn(textOf(entry)).text] : []))
      : [];
    const left = this.sent.peek().filter(({ seq, text }) => {
      if (seq !== undefined) return !seqs.has(seq);
      const same = text === "" ? -1 : said.indexOf(text);
      if (same >= 0) said.splice(same, 1);
      return same < 0;
    });
    if (left.length < this.sent.peek().length) this.sent.value = left;
  }

  #forgetPieces(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#pieces = { text: "", thinking: "" };
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

/** A question is above its answer: only messages sent during the current run are below it. */
export function placeSent(
  sent: readonly Sent[],
  live: Pick<LiveRun, "runId"> | undefined,
): { readonly above: readonly Sent[]; readonly below: readonly Sent[] } {
  const isBelow = ({ during }: Sent): boolean => live !== undefined && during === live.runId;
  return { above: sent.filter((one) => !isBelow(one)), below: sent.filter(isBelow) };
}

/** Oldest first. */
const placed = ({ items }: HistoryPage): readonly Placed[] =>
  items.flatMap(({ position, entry }) => (entry ? [{ position, entry }] : [])).reverse();
