/**
 * What a node holds in memory of an agent it owns. Every commit of the owner goes through here, so memory changes only
 * after the store has. After a refusal or an unknown outcome the lease is dropped and the agent is read again (M2).
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentState } from "../../core/agent/state.ts";
import {
  CommitUnknownError,
  StoreClosedError,
  StoreFullError,
  StoreLostError,
  StoreUnavailableError,
} from "../../core/errors.ts";
import { type Entry, entryLine } from "../../core/history/entry.ts";
import type { AgentId, EntryId, RunId, SessionId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Lane, RunBody } from "../../core/run/run.ts";
import type { Change, CommitResult, Op, Owner } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { CommitRefused } from "../commit/commit-refused.ts";
import { commitKnown } from "../commit/submit.ts";
import type { ContextCache } from "./context-cache.ts";
import { type KnownCommits, withCommit } from "./run-commits.ts";

type LeasePorts = Pick<Ports, "store" | "ids" | "clock">;

/** Entries with their place in history, to be appended by one commit. */
export interface Appending {
  readonly entries: readonly Entry[];
  readonly position: number;
  readonly leaf: EntryId;
}

export interface Committing {
  readonly site: CommitSite;
  /** Default: now. */
  readonly at?: number;
  readonly ops: readonly Op[];
  readonly append?: Appending;
  readonly state?: AgentState;
  readonly run?: Owner["run"];
  /** The revision of people's rights that it was decided by. */
  readonly rights?: Owner["rights"];
  /** The agent's descriptor from this change on. */
  readonly descriptor?: AgentDescriptor;
  /** The session this change begins. */
  readonly begins?: SessionId;
}

/** Whether a commit has given its agent back. Its ops may be followed by those that the lease owed. */
export const givesBack = (results: Extract<CommitResult, { ok: true }>["results"]): boolean =>
  results.some((one) => one?.op === "agent.release" && one.released);

/** Errors of the store that pass. Any other error is a fault of the change itself and would come back. */
const OF_THE_STORE = [CommitUnknownError, StoreFullError, StoreLostError, StoreUnavailableError, StoreClosedError];
const isOfTheStore = (error: unknown): error is Error => OF_THE_STORE.some((kind) => error instanceof kind);

export class AgentLease {
  readonly #ports: LeasePorts;
  #read: AgentRecord;
  readonly node: number;
  readonly epoch: number;
  readonly context: ContextCache;
  state: AgentState;
  sessionId: SessionId;
  leaf: EntryId;
  nextPos: number;
  runId: RunId | undefined;
  /** Whether its run waits for a person (M31). */
  suspended: boolean;
  /** Whether the last commit gave the agent back: nothing waits and no node holds it. */
  released = false;
  readonly #also: Op[] = [];
  #commits: KnownCommits | undefined;

  constructor(ports: LeasePorts, record: AgentRecord, claim: { node: number; epoch: number }, context: ContextCache) {
    this.#ports = ports;
    this.#read = record;
    this.node = claim.node;
    this.epoch = claim.epoch;
    this.context = context;
    this.state = record.state;
    this.sessionId = record.sessionId;
    this.leaf = record.leaf;
    this.nextPos = record.nextPos;
    this.runId = record.runId;
    this.suspended = record.suspended ?? false;
  }

  get agentId(): AgentId {
    return this.#read.id;
  }
  /** The lane that its runs wait in. */
  get lane(): Lane {
    const { type } = this.#read.descriptor;
    return type === "subagent" ? "subagent" : type === "cron" || type === "heartbeat" ? "cron" : "main";
  }
  /** The agent now: as it was read, with every commit since. The counters of the inbox are as they were read. */
  get record(): AgentRecord {
    const { state, sessionId, leaf, nextPos, runId, suspended } = this;
    return { ...this.#read, state, sessionId, leaf, nextPos, runId, suspended: suspended || undefined };
  }

  /** The same agent under a later claim. No other node held it in between, so what is in memory is still true. */
  renewed(claim: { node: number; epoch: number }): AgentLease {
    return new AgentLease(this.#ports, this.record, claim, this.context);
  }

  /** The messages of the current session, as a model is sent them. */
  messages(): Promise<readonly ModelMessage[]> {
    return this.context.messages(this.leaf);
  }

  /** The entries of the current session that make up its context, oldest first, with the last compaction. */
  path(): Promise<readonly Entry[]> {
    return this.context.path(this.leaf);
  }

  /** Adds an op to the next commit, whichever that is. An op of a commit that was not applied goes with the one after. */
  alsoCommit(op: Op): void {
    this.#also.push(op);
  }
  /** Whether an op waits for the next commit. */
  get owesCommit(): boolean {
    return this.#also.length > 0;
  }

  /** The commits of a run that are in its record. Undefined: this lease has made none. */
  commitsOf(runId: RunId): RunBody["commits"] {
    return this.#commits?.runId === runId ? [...this.#commits.list] : undefined;
  }

  /** Commits as the owner. Resolves if it was applied; otherwise throws `CommitRefused` and memory is unchanged. */
  async commit(committing: Committing): Promise<Extract<CommitResult, { ok: true }>> {
    const { ids, clock, store } = this.#ports;
    const { append, state, begins } = committing;
    const also = this.#also.length;
    const ops: Op[] = [...committing.ops, ...this.#also];
    // Also without entries: the position proves that no other writer has appended.
    if (append) {
      const lines = append.entries.map(entryLine);
      ops.push({ op: "entries.append", position: append.position, lines, leaf: append.leaf });
    }
    if (begins) ops.push({ op: "session.begin", sessionId: begins });
    if (state) ops.push({ op: "state.put", state });
    const { agentId, node, epoch, sessionId } = this;
    const { site, at = clock.now() } = committing;
    const noted = withCommit(ops, this.#commits, { site, at, node });
    const owner = { agentId, node, epoch, sessionId, run: committing.run, rights: committing.rights };
    const change: Change = { id: ids.change(), site, at, owner, ops: noted.ops };
    let result: CommitResult;
    try {
      result = await commitKnown(store, change);
    } catch (error) {
      throw isOfTheStore(error) ? new CommitRefused("unknown", error.message, error) : error;
    }
    if (!result.ok) throw new CommitRefused(result.refused, result.detail);
    this.#commits = noted.known;
    this.#also.splice(0, also);
    if (begins) {
      this.sessionId = begins;
      this.context.clear();
    }
    if (append) {
      this.nextPos += append.entries.length;
      this.leaf = append.leaf;
      this.context.append(append.entries);
    }
    if (state) this.state = state;
    if (committing.descriptor) this.#read = { ...this.#read, descriptor: committing.descriptor };
    return result;
  }
}
