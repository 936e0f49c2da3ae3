/**
 * What happens to agents as a whole: which appear, which begin and end a run. The latest of it is kept, so that a reader who
 * comes back is told what it missed; who was away longer gets the tree anew.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/ports/clock.ts";
import type { RunEvent } from "../../../engine/runtime/run-events.ts";
import type { LiveTree } from "../../../engine/subagents/live-tree.ts";
import type { RemoteNodes } from "../../node/relay/relay-events.ts";
import type { RunFeed } from "./run-feed.ts";

export interface TreeEvent {
  readonly n: number;
  readonly data: object;
  readonly type: string;
}

const KEPT = 1_000;
/** So long other nodes are listened to when the last reader has left: it may come back. */
const LINGER_MS = 30_000;
/** Deltas are for those who follow an agent. */
const TOLD: readonly RunEvent["type"][] = ["start", "restart", "step", "end", "error"];

export class TreeFeed {
  /** Numbers of another life of the process say nothing here. */
  readonly life = randomUUID().slice(0, 8);
  readonly #listeners = new Set<(event: TreeEvent) => void>();
  #events: TreeEvent[] = [];
  #n = 0;
  readonly #clock: Clock;
  readonly #remoteNodes: RemoteNodes | undefined;
  #leave: (() => void) | undefined;
  #cancelLeave: (() => void) | undefined;

  constructor(feed: RunFeed, tree: Pick<LiveTree, "onChange">, clock: Clock, remoteNodes?: RemoteNodes) {
    this.#clock = clock;
    this.#remoteNodes = remoteNodes;
    tree.onChange((change) => this.#add("changed", { type: "changed", ...change }));
    feed.followOwn((event) => {
      if (!TOLD.includes(event.type)) return;
      const { type, agentId, runId, attempt, step, seq } = event;
      const more = event.type === "end" ? { outcome: event.result.outcome } : {};
      this.#add(type, { type, agentId, runId, attempt, step, seq, ...more });
    });
  }

  get last(): number {
    return this.#n;
  }

  follow(listener: (event: TreeEvent) => void): () => void {
    this.#listeners.add(listener);
    this.#relaySubscriber();
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0 || !this.#leave) return;
      this.#cancelLeave ??= this.#clock.after(LINGER_MS, () => this.close());
    };
  }

  /** Stops listening to other nodes. */
  close(): void {
    this.#cancelLeave?.();
    this.#cancelLeave = undefined;
    if (!this.#leave) return;
    this.#leave();
    this.#leave = undefined;
    // From here on it is not known what other nodes do: whoever was here before gets the tree anew.
    this.#n += 1;
    this.#events = [];
  }

  #relaySubscriber(): void {
    this.#cancelLeave?.();
    this.#cancelLeave = undefined;
    if (this.#leave || !this.#remoteNodes) return;
    this.#leave = this.#remoteNodes.followTree({
      event: (event) => this.#add(event.type, event),
      changed: (agents, all) => this.#add("changed", { type: "changed", agents: all ? [] : agents, all }),
    });
  }

  /** What came after; undefined where that is no longer known. */
  after(id: string | undefined): readonly TreeEvent[] | undefined {
    const match = /^([0-9a-f]{8})-(\d{1,15})$/.exec(id ?? "");
    if (match?.[1] !== this.life) return undefined;
    const n = Number(match[2]);
    const oldest = this.#events[0]?.n ?? this.#n + 1;
    return n + 1 < oldest || n > this.#n ? undefined : this.#events.filter((event) => event.n > n);
  }

  idOf(n: number): string {
    return `${this.life}-${n}`;
  }

  #add(type: string, data: object): void {
    const event = { n: ++this.#n, type, data };
    this.#events.push(event);
    if (this.#events.length > 2 * KEPT) this.#events = this.#events.slice(-KEPT);
    for (const listener of this.#listeners) listener(event);
  }
}
