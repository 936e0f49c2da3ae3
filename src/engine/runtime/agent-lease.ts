/**
 * What a node holds of an agent it owns. Commits go through here, so that memory moves only when the store has moved; after
 * any doubt the holding is thrown away and read anew (M2).
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { CommitUnknownError, StoreClosedError, StoreFullError } from "../../core/errors.ts";
import { type Entry, entryLine } from "../../core/history/entry.ts";
import type { AgentId, EntryId, RunId, SessionId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Change, CommitResult, Op, Owner } from "../../core/store/change.ts";
import { CommitRefused } from "../commit/commit-refused.ts";
import { commitKnown } from "../commit/submit.ts";
import { type ContextSize, EMPTY_SIZE, sizeWith } from "../context/compaction/estimate-tokens.ts";
import { buildHistoryContext, modelMessage, readPath } from "../context/context.ts";
import type { Appending } from "../context/entries.ts";
import { repairPairs } from "../context/repair-pairs.ts";

export type LeasePorts = Pick<Ports, "store" | "ids" | "clock" | "log">;

/** The store's own troubles, which pass. Anything else is a fault in what was to be committed and would come back. */
const isOfTheStore = (error: unknown): error is Error =>
  error instanceof CommitUnknownError || error instanceof StoreFullError || error instanceof StoreClosedError;

export interface Committing {
  readonly site: string;
  /** Default: now. */
  readonly at?: number;
  readonly ops: readonly Op[];
  readonly append?: Appending;
  readonly state?: AgentState;
  readonly run?: Owner["run"];
  /** What the agent is from this change on. */
  readonly descriptor?: AgentDescriptor;
  /** The session this change begins, if it does. */
  readonly begins?: SessionId;
}

export class AgentLease {
  readonly #ports: LeasePorts;
  #read: AgentRecord;
  readonly node: number;
  readonly epoch: number;
  state: AgentState;
  sessionId: SessionId;
  leaf: EntryId;
  nextPos: number;
  runId: RunId | undefined;
  /** Whether the last commit gave the agent back: nothing waits, nobody holds it. */
  released = false;
  #context: ModelMessage[] | undefined;
  #also: Op[] = [];
  #size: ContextSize = EMPTY_SIZE;
  /** What is sent beside the messages, estimated; undefined until somebody has looked. */
  overhead: number | undefined;

  constructor(ports: LeasePorts, record: AgentRecord, claim: { node: number; epoch: number }) {
    this.#ports = ports;
    this.#read = record;
    this.node = claim.node;
    this.epoch = claim.epoch;
    this.state = record.state;
    this.sessionId = record.sessionId;
    this.leaf = record.leaf;
    this.nextPos = record.nextPos;
    this.runId = record.runId;
  }

  get agentId(): AgentId {
    return this.#read.id;
  }
  /** The agent as it is now: what was read, and what was committed since. Counters of the inbox are as they were read. */
  get record(): AgentRecord {
    const { state, sessionId, leaf, nextPos, runId } = this;
    return { ...this.#read, state, sessionId, leaf, nextPos, runId };
  }

  /** The same agent claimed again with nobody in between: what is in memory still holds. */
  renewed(claim: { node: number; epoch: number }): AgentLease {
    const renewed = new AgentLease(this.#ports, this.record, claim);
    renewed.#context = this.#context;
    renewed.#size = this.#size;
    renewed.overhead = this.overhead;
    return renewed;
  }

  /** The messages of the current session; read from history once, then kept in step with it. */
  async context(): Promise<readonly ModelMessage[]> {
    if (!this.#context) {
      const { messages, size, skipped } = await buildHistoryContext(this.#ports.store, this.agentId, this.leaf);
      for (const { position, reason } of skipped) {
        this.#ports.log.warn("a line of history was kept and skipped", { agent: this.agentId, position, reason });
      }
      // Every history has its first lines: without any, others finished the agent meanwhile and removed it.
      if (messages.length === 0 && (await this.#ports.store.linesBack(this.agentId, { limit: 1 })).length === 0) {
        throw new CommitRefused("fenced", `The history of agent ${this.agentId} is gone.`);
      }
      this.#context = [...messages];
      this.#size = size;
    }
    return repairPairs(this.#context);
  }

  /** Goes with the next commit, whichever that is; again with the one after where that one was not applied. */
  alsoCommit(op: Op): void {
    this.#also.push(op);
  }
  /** Whether something waits for the next commit. */
  get owesCommit(): boolean {
    return this.#also.length > 0;
  }

  /** How large the context is. Undefined where it is not in memory: nobody has needed it yet. */
  get size(): ContextSize | undefined {
    return this.#context && this.#size;
  }

  /** The entries of the current session that make up the context, oldest first, the last compaction among them. */
  async path(): Promise<readonly Entry[]> {
    return (await readPath(this.#ports.store, this.agentId, this.leaf)).path;
  }

  /** Commits as the owner. Resolves only if it was applied; throws `CommitRefused` otherwise, and memory is as before. */
  async commit(committing: Committing): Promise<Extract<CommitResult, { ok: true }>> {
    const { ids, clock, store } = this.#ports;
    const { append, state, begins } = committing;
    const also = this.#also.length;
    const ops: Op[] = also > 0 ? [...committing.ops, ...this.#also] : [...committing.ops];
    // Also where nothing is added: what was read of the history must still be all of it.
    if (append) {
      const lines = append.entries.map(entryLine);
      ops.push({ op: "entries.append", position: append.position, lines, leaf: append.leaf });
    }
    if (begins) ops.push({ op: "session.begin", sessionId: begins });
    if (state) ops.push({ op: "state.put", state });
    const { agentId, node, epoch, sessionId } = this;
    const change: Change = {
      id: ids.change(),
      site: committing.site,
      at: committing.at ?? clock.now(),
      owner: { agentId, node, epoch, sessionId, run: committing.run },
      ops,
    };
    let result: CommitResult;
    try {
      result = await commitKnown(store, change);
    } catch (error) {
      throw isOfTheStore(error) ? new CommitRefused("unknown", error.message, error) : error;
    }
    if (!result.ok) throw new CommitRefused(result.refused, result.detail);
    if (also > 0) this.#also = this.#also.slice(also);
    if (begins) {
      this.sessionId = begins;
      this.#context = [];
      this.#size = EMPTY_SIZE;
    }
    if (append) this.#appended(append);
    if (state) this.state = state;
    if (committing.descriptor) this.#read = { ...this.#read, descriptor: committing.descriptor };
    return result;
  }

  #appended({ entries, leaf }: Appending): void {
    this.nextPos += entries.length;
    this.leaf = leaf;
    // A compaction changes what stands before it: the context is built anew from history, as after a restart.
    if (entries.some(({ type }) => type === "compaction")) this.#context = undefined;
    if (!this.#context) return;
    for (const entry of entries as readonly Entry[]) {
      const added = modelMessage(this.agentId, entry);
      this.#size = sizeWith(this.#size, entry, added);
      this.#context.push(...added);
    }
  }
}
