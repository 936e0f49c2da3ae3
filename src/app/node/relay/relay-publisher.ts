/**
 * Tells other nodes what they want to know of runs that work here: events of the agents they follow, deltas gathered; of all
 * agents in outline; and what was said before they asked. Never inside a step's transaction (M24). Nothing is kept for
 * those who stopped asking, and what is kept is bounded: who is told too much at once finds the gap and asks again.
 */

import type { AgentId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import { RunTails } from "../../../engine/runs/run-tails.ts";
import type { RunEvent, RunEvents } from "../../../engine/runtime/run-events.ts";
import type { LiveTree, TreeChange } from "../../../engine/subagents/live-tree.ts";
import { type Ended, type Interest, type Outline, pack, type Said } from "./wire.ts";

export interface Telling {
  readonly clock: Clock;
  readonly events: RunEvents;
  readonly tree: Pick<LiveTree, "onChange">;
  readonly send: (said: Said, to: string) => void;
  /** For how long somebody counts as wanting what it said once. */
  readonly wantedMs: number;
}

/** Deltas that come within this time go together. */
const GATHER_MS = 40;
const GATHER_TREE_MS = 200;
const MAX_GATHERED = 256_000;
const MAX_OUTLINES = 1_000;
/** A longer result is read from the store. */
const MAX_RESULT = 32_000;
const MAX_WANTED = 10_000;
const OUTLINED: ReadonlySet<RunEvent["type"]> = new Set<Outline["type"]>(["start", "restart", "step", "end", "error"]);

interface Wish {
  until: number;
  readonly interest: Interest;
}

export class TellOthers {
  readonly #telling: Telling;
  readonly #tails = new RunTails();
  readonly #wanted = new Map<AgentId, Map<string, Wish>>();
  readonly #treeWanted = new Map<string, number>();
  readonly #gathered = new Map<string, { events: RunEvent[]; length: number }>();
  readonly #tree = { events: [] as Outline[], changed: new Set<AgentId>(), all: false };
  readonly #stopOwn: () => void;
  #stopTree: (() => void) | undefined;
  #cancelFlush: (() => void) | undefined;
  #cancelTree: (() => void) | undefined;

  constructor(telling: Telling) {
    this.#telling = telling;
    this.#stopOwn = telling.events.listenToOwn((event) => this.#happened(event));
  }

  stop(): void {
    this.#stopOwn();
    this.#stopTree?.();
    this.#cancelFlush?.();
    this.#cancelTree?.();
  }

  want(agents: readonly AgentId[], interest: Interest, tail: boolean, from: string): void {
    const until = this.#telling.clock.monotonic() + this.#telling.wantedMs;
    for (const agentId of agents) {
      const wishes = this.#wanted.get(agentId) ?? new Map<string, Wish>();
      this.#wanted.delete(agentId);
      this.#wanted.set(agentId, wishes);
      wishes.set(from, { until, interest });
      if (tail && interest === "all") this.#sendTail(agentId, from);
    }
    for (const oldest of this.#wanted.keys()) {
      if (this.#wanted.size <= MAX_WANTED) break;
      this.#wanted.delete(oldest);
    }
  }

  unwant(agents: readonly AgentId[], from: string): void {
    for (const agentId of agents) {
      const wishes = this.#wanted.get(agentId);
      wishes?.delete(from);
      if (wishes?.size === 0) this.#wanted.delete(agentId);
    }
  }

  wantTree(wanted: boolean, from: string): void {
    if (wanted) this.#treeWanted.set(from, this.#telling.clock.monotonic() + this.#telling.wantedMs);
    else this.#treeWanted.delete(from);
    if (this.#treeWanted.size > 0)
      this.#stopTree ??= this.#telling.tree.onChange((change) => this.#treeChanged(change));
    else this.#leaveTree();
  }

  #leaveTree(): void {
    this.#stopTree?.();
    this.#stopTree = undefined;
  }

  #sendTail(agentId: AgentId, from: string): void {
    const known = this.#tails.of(agentId);
    if (!known) return;
    // What is gathered is part of the tail: it is told first, or it would be told as new behind it.
    this.#flush();
    const events = pack(known.tail.apart());
    this.#telling.send({ tail: { agentId, last: { agentId, runId: known.runId, ...known.tail.at }, events } }, from);
  }

  #happened(event: RunEvent): void {
    this.#tails.add(event);
    if (this.#treeWanted.size > 0 && OUTLINED.has(event.type)) this.#outline(event);
    if (this.#wanted.size === 0) return;
    const wishes = this.#wanted.get(event.agentId);
    if (!wishes) return;
    const now = this.#telling.clock.monotonic();
    let full = event.type === "end";
    for (const [from, { until, interest }] of wishes) {
      if (until < now) wishes.delete(from);
      else if (interest === "all") full = this.#gather(from, event) || full;
      else if (event.type === "end") this.#telling.send({ ended: endedOf(event) }, from);
    }
    if (wishes.size === 0) this.#wanted.delete(event.agentId);
    if (full) this.#flush();
    else if (this.#gathered.size > 0) this.#cancelFlush ??= this.#telling.clock.after(GATHER_MS, () => this.#flush());
  }

  /** True where so much is gathered that it should go at once. */
  #gather(from: string, event: RunEvent): boolean {
    const mine = this.#gathered.get(from) ?? { events: [], length: 0 };
    this.#gathered.set(from, mine);
    mine.events.push(event);
    mine.length += 100 + (event.type === "delta" || event.type === "tool_update" ? event.text.length : 0);
    return mine.length > MAX_GATHERED;
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    for (const [from, { events }] of this.#gathered) {
      let told: RunEvent[] = [];
      for (const event of events) {
        if (event.type !== "end" || JSON.stringify(event.result).length <= MAX_RESULT) told.push(event);
        else {
          if (told.length > 0) this.#telling.send({ tell: pack(told) }, from);
          told = [];
          this.#telling.send({ ended: endedOf(event) }, from);
        }
      }
      if (told.length > 0) this.#telling.send({ tell: pack(told) }, from);
    }
    this.#gathered.clear();
  }

  #outline(event: RunEvent): void {
    const { type, agentId, runId, attempt, step, seq } = event;
    const outcome = event.type === "end" ? { outcome: event.result.outcome } : {};
    if (this.#tree.events.length >= MAX_OUTLINES) this.#tree.all = true;
    else this.#tree.events.push({ type, agentId, runId, attempt, step, seq, ...outcome } as Outline);
    this.#soonTree();
  }

  #treeChanged({ agents, all }: TreeChange): void {
    for (const agentId of agents) this.#tree.changed.add(agentId);
    this.#tree.all ||= all || this.#tree.changed.size > MAX_OUTLINES;
    this.#soonTree();
  }

  #soonTree(): void {
    this.#cancelTree ??= this.#telling.clock.after(GATHER_TREE_MS, () => this.#tellTree());
  }

  #tellTree(): void {
    this.#cancelTree = undefined;
    const { events, changed, all } = this.#tree;
    const tree = { events, changed: all ? [] : [...changed], all };
    Object.assign(this.#tree, { events: [], changed: new Set(), all: false });
    const now = this.#telling.clock.monotonic();
    for (const [from, until] of this.#treeWanted) {
      if (until < now) this.wantTree(false, from);
      else this.#telling.send({ tree }, from);
    }
  }
}

const endedOf = ({ agentId, runId, attempt, step, seq }: RunEvent): Ended => ({ agentId, runId, attempt, step, seq });
