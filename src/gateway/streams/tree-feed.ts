/**
 * What happens to agents as a whole: which appear, which begin and end a run. The latest of it is kept, so that a reader who
 * comes back is told what it missed; who was away longer gets the tree anew.
 */
import { randomUUID } from "node:crypto";
import type { AgentSystem } from "../../agents/agent-system.ts";
import type { RunEvent } from "../../runs/events.ts";
import type { RunFeed } from "./run-feed.ts";

export interface TreeEvent {
  readonly n: number;
  readonly data: object;
  readonly type: string;
}

const KEPT = 1_000;
/** Deltas are for those who follow an agent. */
const TOLD: readonly RunEvent["type"][] = ["start", "restart", "step", "end", "error"];

export class TreeFeed {
  /** Numbers of another life of the process say nothing here. */
  readonly life = randomUUID().slice(0, 8);
  readonly #listeners = new Set<(event: TreeEvent) => void>();
  #events: TreeEvent[] = [];
  #n = 0;

  constructor(feed: RunFeed, agents: Pick<AgentSystem, "onTreeChange">) {
    agents.onTreeChange((change) => this.#add("changed", { type: "changed", ...change }));
    feed.followAll((event) => {
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
    return () => this.#listeners.delete(listener);
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
