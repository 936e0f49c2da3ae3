/** A store in tests of stores: one node on it with counted ids, a clock that ticks with every commit, and the usual changes. */
import type { AgentSeed } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import { InvariantError } from "../../core/errors.ts";
import type { AgentId, ChangeId, EntryId, RunId, SessionId, SessionKey } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Change, CommitResult, Op, OpResult, Owner, Posted, Refusal } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";

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
  /** Commits and returns the results; a refusal throws. */
  done(ops: readonly Op[], owner?: Owner): Promise<readonly (OpResult | undefined)[]>;
  /** Commits and returns the reason of the refusal; an applied change throws. */
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
      if (!result.ok) throw new InvariantError(`refused as ${result.refused}: ${result.detail}`);
      return result.results;
    },
    async refused(ops, owner) {
      const result = await world.commit(ops, owner);
      if (result.ok) throw new InvariantError("the change was applied");
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
      if (claimed?.op !== "agent.claim" || claimed.epoch === undefined)
        throw new InvariantError("the agent was not claimed");
      return { id, owner: { agentId: id, node: world.node, epoch: claimed.epoch } };
    },
    async post(agentId, body = userBody("hello")) {
      return postedIn(await world.done([postOp({ agentId }, body, world.now)]));
    },
    async join(name, leaseUntil = world.now + LEASE_MS) {
      const [joined] = await world.done([{ op: "node.join", name, leaseUntil }]);
      if (joined?.op !== "node.join") throw new InvariantError("the node did not join");
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
  if (posted?.op !== "message.post") throw new InvariantError("nothing was posted");
  return posted;
}

export const runBody = (seqs: readonly number[] = []): RunBody => ({
  lane: "main",
  seqs: [...seqs],
  calls: [],
  iterations: 0,
  deliveries: 0,
});
