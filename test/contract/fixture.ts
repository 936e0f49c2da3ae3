/** Shared by contract tests: one store with counted ids, a clock that ticks with every commit, and the usual changes. */
import { type TestContext, test } from "vitest";
import type { AgentSeed } from "../../src/core/agent/agent.ts";
import type { AgentDescriptor } from "../../src/core/agent/descriptor.ts";
import { freshState } from "../../src/core/agent/state.ts";
import type { AgentId, ChangeId, EntryId, RunId, SessionId, SessionKey } from "../../src/core/ids.ts";
import type { MessageBody } from "../../src/core/message/message.ts";
import type { RunBody } from "../../src/core/run/run.ts";
import type { Change, CommitResult, Op, OpResult, Owner, Posted, Refusal } from "../../src/core/store/change.ts";
import type { Store } from "../../src/core/store/store.ts";

export interface Opened {
  readonly store: Store;
  /** Opens the same data again after `store.close()`. Absent if data does not outlive the store. */
  readonly reopen?: () => Promise<Store>;
  readonly dispose?: () => Promise<void>;
  /** Later tests use the same store, emptied: a test need not close it. Opening one costs far more than emptying it. */
  readonly isShared?: boolean;
  /** Damages rows in the database behind the store's back. */
  readonly damage?: (statement: string) => Promise<void>;
}
export type Opener = () => Promise<Opened>;

export const START = 1_750_000_000_000;
export const LEASE_MS = 60_000;

/** An agent that the test's node owns, and the owner part of its changes. */
export interface Held {
  readonly id: AgentId;
  readonly owner: Owner;
}

export interface World {
  store: Store;
  /** The node that tests act as. */
  readonly node: number;
  now: number;
  change(ops: readonly Op[], owner?: Owner): Change;
  commit(ops: readonly Op[], owner?: Owner): Promise<CommitResult>;
  /** Commits and returns the results; a refusal fails the test. */
  done(ops: readonly Op[], owner?: Owner): Promise<readonly (OpResult | undefined)[]>;
  /** Commits and returns the reason of the refusal; an applied change fails the test. */
  refused(ops: readonly Op[], owner?: Owner): Promise<Refusal>;
  seed(name: string, descriptor?: AgentDescriptor): AgentSeed;
  /** Makes an agent and claims it. */
  agent(name: string, descriptor?: AgentDescriptor): Promise<Held>;
  post(agentId: AgentId, body?: MessageBody): Promise<Posted>;
  join(name: string, leaseUntil?: number): Promise<number>;
  openRun(held: Held, runId: string, seqs?: readonly number[]): Promise<RunId>;
}

let made = 0;

export async function worldOn(store: Store): Promise<World> {
  const world: World = {
    store,
    node: 0,
    now: START,
    change: (ops, owner) => ({
      id: `change-${(made++).toString().padStart(8, "0")}` as ChangeId,
      site: "test",
      at: world.now++,
      owner,
      ops,
    }),
    commit: (ops, owner) => world.store.commit(world.change(ops, owner)),
    async done(ops, owner) {
      const result = await world.commit(ops, owner);
      if (!result.ok) throw new Error(`Refused as ${result.refused}: ${result.detail}`);
      return result.results;
    },
    async refused(ops, owner) {
      const result = await world.commit(ops, owner);
      if (result.ok) throw new Error("The change was applied.");
      return result.refused;
    },
    seed: (name, descriptor = userDescriptor(name)) => {
      const id = idOf(name);
      return {
        id,
        sessionKey: keyOf(name),
        profile: "main",
        descriptor,
        state: freshState(world.now),
        sessionId: sessionOf(1),
        lines: [`{"type":"session","id":"${id}"}`, `{"type":"start","id":"${id}-start"}`],
        leaf: `${id}-start` as EntryId,
        createdAt: world.now,
      };
    },
    async agent(name, descriptor) {
      await world.done([{ op: "agent.create", seed: world.seed(name, descriptor) }]);
      const id = idOf(name);
      const [claimed] = await world.done([{ op: "agent.claim", agentId: id, node: world.node }]);
      if (claimed?.op !== "agent.claim" || claimed.epoch === undefined) throw new Error("Not claimed.");
      return { id, owner: { agentId: id, node: world.node, epoch: claimed.epoch } };
    },
    async post(agentId, body = userBody("hello")) {
      return postedIn(await world.done([postOp({ agentId }, body, world.now)]));
    },
    async join(name, leaseUntil = world.now + LEASE_MS) {
      const [joined] = await world.done([{ op: "node.join", name, leaseUntil }]);
      if (joined?.op !== "node.join") throw new Error("Not joined.");
      return joined.node;
    },
    async openRun(held, runId, seqs = []) {
      const id = runId as RunId;
      await world.done(
        [
          { op: "run.open", runId: id, body: runBody(seqs) },
          { op: "message.take", runId: id, seqs },
        ],
        held.owner,
      );
      return id;
    },
  };
  const node = await world.join("test", START + 1_000 * LEASE_MS);
  return Object.assign(world, { node });
}

/** A test that gets an empty store. The store is closed at the end, also when the test fails. */
export function storeTest(
  title: string,
  open: Opener,
  body: (world: World, opened: Opened, context: TestContext) => Promise<void>,
): void {
  test(title, async (context) => {
    const opened = await open();
    const world = await worldOn(opened.store);
    try {
      await body(world, opened, context);
    } finally {
      await closed(world, opened);
    }
  });
}

/** Ends a test's use of its store. */
export async function closed(world: World, opened: Opened): Promise<void> {
  if (!opened.isShared || world.store !== opened.store) await world.store.close();
  await opened.dispose?.();
}

/** Closes the world's store and opens it again on the same data. */
export async function reopened(world: World, opened: Opened, context: TestContext): Promise<void> {
  if (!opened.reopen) return context.skip("data of this store does not outlive it");
  await world.store.close();
  world.store = await opened.reopen();
}

export const idOf = (name: string): AgentId =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .padStart(24, "0") as AgentId;
export const keyOf = (name: string): SessionKey => `agent:main:test:dm:${name}` as SessionKey;
export const sessionOf = (n: number): SessionId =>
  `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` as SessionId;

export const userDescriptor = (name: string): AgentDescriptor => ({
  type: "user",
  connector: "test",
  userId: name,
  channelId: name,
});
export const childOf = (parent: AgentId, name: string): AgentDescriptor => ({
  type: "subagent",
  id: name,
  parentAgentId: parent,
  name,
});

export const userBody = (text: string): MessageBody => ({ kind: "user", text });
export const resetBody: MessageBody = { kind: "reset", by: "person" };

export function postOp(
  to: Extract<Op, { op: "message.post" }>["to"],
  body: MessageBody,
  acceptedAt: number,
  rest: Partial<Extract<Op, { op: "message.post" }>> = {},
): Op {
  return { op: "message.post", to, message: { body, acceptedAt }, ...rest };
}

export function postedIn(results: readonly (OpResult | undefined)[]): Posted {
  const posted = results.find((result) => result?.op === "message.post");
  if (posted?.op !== "message.post") throw new Error("Nothing was posted.");
  return posted;
}

export const runBody = (seqs: readonly number[] = []): RunBody => ({
  lane: "main",
  seqs: [...seqs],
  calls: [],
  iterations: 0,
  deliveries: 0,
});
