/**
 * Follows agents that other nodes work on, for whoever listens here. Events come out in their order and without holes: where
 * one is missing, the rest of the step is asked for anew and told behind a `restart`, which voids what was told of it; an end
 * that was missed is read from the store. Says again what it wants while somebody listens, and nothing when nobody does.
 */

import { errorText } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { Store } from "../../../core/store/store.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import type { RunEvent, RunEvents } from "../../../engine/runtime/run-events.ts";
import { type Ended, type Interest, type Outline, type Packed, type Said, unpack } from "./wire.ts";

export interface TreeListener {
  event(event: Outline): void;
  /** `all`: too many to name, or nobody knows which. */
  changed(agents: readonly AgentId[], all: boolean): void;
}

export interface Following {
  readonly clock: Clock;
  readonly events: RunEvents;
  readonly store: Pick<Store, "run" | "linesBack">;
  readonly log: Log;
  readonly send: (said: Said) => void;
  readonly wantAgainMs: number;
}

interface Followed {
  all: number;
  readonly ends: Set<() => void>;
  /** The run under way, as far as it was told, and who tells it. */
  run: (Ended & { readonly from: string }) | undefined;
  /** Something is missing: what comes is not told until the tail has come. */
  gap: boolean;
}

/** Wants are said in portions of so many agents. */
const PORTION = 500;

export class FollowOthers {
  readonly #following: Following;
  readonly #followed = new Map<AgentId, Followed>();
  readonly #trees = new Set<TreeListener>();
  #toSay = new Set<AgentId>();
  #cancelSay: (() => void) | undefined;
  #cancelAgain: (() => void) | undefined;

  constructor(following: Following) {
    this.#following = following;
  }

  /** From now on this agent's events are told to the listeners of runs here, until the answer is called. */
  follow(agentId: AgentId): () => void {
    const followed = this.#enter(agentId);
    followed.all += 1;
    if (followed.all === 1) this.#soon(agentId);
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      followed.all -= 1;
      if (followed.all === 0) followed.run = undefined;
      this.#leave(agentId, followed);
    };
  }

  /** Calls back whenever a run of this agent has ended elsewhere. */
  awaitEnd(agentId: AgentId, ended: () => void): () => void {
    const followed = this.#enter(agentId);
    followed.ends.add(ended);
    if (followed.all === 0 && followed.ends.size === 1) this.#soon(agentId);
    return () => {
      if (followed.ends.delete(ended)) this.#leave(agentId, followed);
    };
  }

  followTree(listener: TreeListener): () => void {
    this.#trees.add(listener);
    if (this.#trees.size === 1) {
      this.#following.send({ wantTree: true });
      this.#again();
    }
    return () => {
      if (this.#trees.delete(listener) && this.#trees.size === 0) this.#following.send({ wantTree: false });
    };
  }

  /** Somebody new is there. */
  sayAgain(tail: boolean): void {
    if (this.#trees.size > 0) this.#following.send({ wantTree: true });
    this.#say([...this.#followed.keys()], tail);
  }

  /** What was told in between is lost. */
  lost(): void {
    for (const followed of this.#followed.values()) {
      followed.gap = followed.run !== undefined;
      if (followed.run) void this.#tellEnd(followed.run);
      for (const ended of followed.ends) ended();
    }
    for (const tree of this.#trees) tree.changed([], true);
    this.sayAgain(true);
  }

  told(packed: readonly Packed[], from: string): void {
    for (const event of unpack(packed)) {
      const followed = this.#followed.get(event.agentId);
      if (!followed) continue;
      if (followed.all > 0) this.#tell(followed, event, from);
      if (event.type === "end") for (const ended of followed.ends) ended();
    }
  }

  #tell(followed: Followed, event: RunEvent, from: string): void {
    const known = followed.run?.runId === event.runId ? followed.run : undefined;
    const place = placeOf(event, from, known, followed.gap);
    if (place === "old") return;
    if (place === "missing") {
      if (!followed.gap) this.#soon(event.agentId);
      followed.gap = true;
      return;
    }
    if (place === "next") {
      const { agentId, runId, attempt, step, seq } = event;
      followed.gap = false;
      followed.run = event.type === "end" ? undefined : { agentId, runId, attempt, step, seq, from };
    }
    this.#following.events.pass(event);
  }

  tail(last: Ended, packed: readonly Packed[], from: string): void {
    const followed = this.#followed.get(last.agentId);
    if (!followed || followed.all === 0) return;
    const { run, gap } = followed;
    const known = run?.runId === last.runId ? run : undefined;
    if (known && (last.step < known.step || (!gap && known.from === from && known.seq >= last.seq))) return;
    const events = [...unpack(packed)];
    if (run && !known) void this.#tellEnd(run);
    // Whoever listens has part of the step, or of one before it that was committed meanwhile.
    const about = { ...last, seq: (events[0]?.seq ?? last.seq + 1) - 1 };
    if (known) {
      const began = last.step > known.step ? { type: "step" as const } : { type: "restart" as const };
      this.#following.events.pass({ ...began, ...about });
    }
    followed.gap = false;
    followed.run = { ...last, from };
    for (const event of events) this.#following.events.pass(event);
  }

  ended(ended: Ended): void {
    const followed = this.#followed.get(ended.agentId);
    if (!followed) return;
    for (const tell of followed.ends) tell();
    if (followed.all > 0) void this.#tellEnd(ended);
  }

  tree(events: readonly Outline[], changed: readonly AgentId[], all: boolean): void {
    for (const tree of this.#trees) {
      for (const event of events) tree.event(event);
      if (all || changed.length > 0) tree.changed(changed, all);
    }
  }

  stop(): void {
    this.#cancelSay?.();
    this.#cancelAgain?.();
    this.#followed.clear();
    this.#trees.clear();
  }

  /** Nothing where it has not ended. */
  async #tellEnd(run: Ended): Promise<void> {
    const { store, events, log } = this.#following;
    try {
      const result = await readRunResult(store, run.runId);
      const followed = this.#followed.get(run.agentId);
      if (!result || !followed || followed.all === 0) return;
      if (followed.run?.runId === run.runId) followed.run = undefined;
      const { agentId, runId, attempt, step, seq } = run;
      events.pass({ type: "end", result, agentId, runId, attempt, step, seq });
    } catch (error) {
      log.warn("could not read the end of a run of another node", { run: run.runId, error: errorText(error) });
    }
  }

  #enter(agentId: AgentId): Followed {
    const followed = this.#followed.get(agentId) ?? { all: 0, ends: new Set(), run: undefined, gap: false };
    this.#followed.set(agentId, followed);
    return followed;
  }

  #leave(agentId: AgentId, followed: Followed): void {
    if (followed.all > 0 || followed.ends.size > 0 || this.#followed.get(agentId) !== followed) return;
    this.#followed.delete(agentId);
    this.#toSay.delete(agentId);
    this.#following.send({ unwant: [agentId] });
  }

  /** What begins at the same moment is said together. */
  #soon(agentId: AgentId): void {
    this.#toSay.add(agentId);
    this.#cancelSay ??= this.#following.clock.after(0, () => {
      this.#cancelSay = undefined;
      const agents = [...this.#toSay];
      this.#toSay = new Set();
      this.#say(agents, true);
    });
    this.#again();
  }

  #say(agents: readonly AgentId[], tail: boolean): void {
    for (const interest of ["all", "ends"] satisfies Interest[]) {
      const want = agents.filter((agentId) => {
        const followed = this.#followed.get(agentId);
        return followed && (followed.all > 0 ? "all" : "ends") === interest;
      });
      for (let at = 0; at < want.length; at += PORTION) {
        this.#following.send({ want: want.slice(at, at + PORTION), interest, tail });
      }
    }
  }

  #again(): void {
    this.#cancelAgain ??= this.#following.clock.after(this.#following.wantAgainMs, () => {
      this.#cancelAgain = undefined;
      if (this.#followed.size === 0 && this.#trees.size === 0) return;
      this.sayAgain(false);
      this.#again();
    });
  }
}

/** `aside`: it tells of a run that is not under way, and begins none. `missing`: there was something before it. */
function placeOf(
  event: RunEvent,
  from: string,
  known: Followed["run"],
  gap: boolean,
): "next" | "old" | "missing" | "aside" {
  const { type, step, seq } = event;
  if (!known && (type === "compaction_start" || type === "compaction_end")) return "aside";
  // Somebody who was taken for dead goes on a little while another has taken over.
  if (known && known.from !== from && step < known.step) return "old";
  if (known?.from === from && seq <= known.seq) return "old";
  // From here on nothing of before is needed.
  if (type === "start" || type === "restart" || type === "end") return "next";
  if (gap) return "missing";
  return seq === (known?.from === from ? known.seq + 1 : 1) ? "next" : "missing";
}
