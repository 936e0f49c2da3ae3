/**
 * Deliberately broken variants of the store and of the minimal actor. Each names the law that must find it: a law whose
 * check cannot fail proves nothing.
 */

import type { Database } from "../../../src/adapters/store/sqlite/database.ts";
import type { AgentId, SessionKey } from "../../../src/core/ids.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change, CommitResult, OpResult } from "../../../src/core/store/change.ts";
import type { Law } from "../audit/audit-view.ts";
import type { Quirks } from "../subjects/minimal-actor.ts";
import type { IndexParts } from "../world/index-follower.ts";
import type { Backend } from "../world/sim-store.ts";

export interface Mutation {
  readonly name: string;
  readonly about: string;
  /** The law that finds it and the scenario it shows in. */
  readonly law: Law;
  readonly scenario: string;
  /**
   * The first seed that is tried. Default: 1. Saves the time of seeds known not to find it. Where one seed finds several
   * mutations of a scenario they all begin with it, because the unchanged program runs once per seed.
   */
  readonly from?: number;
  /** How long the mutated world gets to become idle, if a minute is too short for its law to be broken. */
  readonly restMs?: number;
  readonly quirks?: Quirks;
  readonly store?: (sound: Backend, db: Database) => Backend;
  /** For a subject without quirks: its ports, broken. */
  readonly ports?: (ports: Ports) => Ports;
  /** The search index, broken. */
  readonly index?: (parts: IndexParts) => IndexParts;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "acknowledge first",
    about: "the origin gets its acknowledgement before the message is durable",
    law: "L1",
    scenario: "outages",
    quirks: { acknowledgeFirst: true },
  },
  {
    name: "settle first",
    about: "messages are settled in one commit, the reply is added in the next",
    law: "L1",
    scenario: "crashes",
    from: 23,
    quirks: { settleFirst: true },
  },
  {
    name: "queue in memory",
    about: "only the process that accepted a message works on it",
    law: "liveness",
    scenario: "crashes",
    from: 23,
    quirks: { memoryQueue: true },
  },
  {
    name: "refused release ignored",
    about: "a message that arrives during the release starts no run",
    law: "liveness",
    scenario: "bursts",
    from: 21,
    quirks: { ignoreRefusedRelease: true },
  },
  {
    name: "blind retry",
    about: "after an unanswered commit the step is tried again without reading the outcome",
    law: "liveness",
    scenario: "unknown-commits",
    from: 3,
    quirks: { retryBlindly: true },
  },
  {
    name: "newest first",
    about: "the newest message is taken first",
    law: "L2",
    scenario: "bursts",
    from: 21,
    quirks: { newestFirst: true },
  },
  {
    name: "side by side",
    about: "deliveries to one target do not wait for each other",
    law: "L2",
    scenario: "sick-channels",
    from: 2,
    quirks: { sendAllAtOnce: true },
  },
  {
    name: "tools again",
    about: "after a crash every open call is executed again",
    law: "L4",
    scenario: "tools",
    from: 3,
    quirks: { repeatTools: true },
  },
  {
    name: "no sending mark",
    about: "a delivery is sent without being committed as sending first",
    law: "L12",
    scenario: "sick-channels",
    quirks: { noSendingMark: true },
  },
  {
    name: "sending forgotten",
    about: "a delivery found sending after a crash is ignored",
    law: "L5",
    scenario: "crashes",
    from: 23,
    quirks: { forgetSending: true },
  },
  {
    name: "refusal hidden",
    about: "a send the channel refused is listed as sent",
    law: "L5",
    scenario: "sick-channels",
    quirks: { hideRefusal: true },
  },
  {
    name: "lease ignored",
    about: "a node that comes back after its lease acts as if nothing had happened",
    law: "L12",
    scenario: "frozen-senders",
    from: 16,
    quirks: { ignoreLease: true },
  },
  {
    name: "dedupe forgotten",
    about: "the store does not recognise a message it has",
    law: "L1",
    scenario: "duplicates",
    store: (sound) => rewriting(sound, withoutDedupe),
  },
  {
    name: "no fence",
    about: "claims and commits check no owner: any node that claims to own the agent may write, at any step",
    law: "L3",
    scenario: "zombies",
    from: 2,
    store: (sound, db) => rewriting(sound, (change) => believed(db, change)),
  },
  {
    name: "blind release",
    about: "an agent is released without comparing its counters",
    law: "liveness",
    scenario: "bursts",
    from: 21,
    store: releasingBlindly,
  },
  {
    name: "database-wide serial",
    about: "a sequence is drawn before the commit: 8 is there before 7, and the cursor skips 7",
    law: "liveness",
    scenario: "bursts",
    from: 21,
    store: drawingEarly,
  },
  {
    name: "answer before commit",
    about: "a commit is confirmed but never stored",
    law: "L1",
    scenario: "crashes",
    from: 23,
    store: answeringEarly,
  },
  {
    name: "torn commit",
    about: "a step is applied in part: the run ends, its messages stay taken",
    law: "L11",
    scenario: "crashes",
    from: 23,
    store: (sound) => rewriting(sound, tearing()),
  },
  {
    name: "key not unique",
    about: "a conversation's second message creates a second agent if it comes soon",
    law: "identity",
    scenario: "first-contact",
    store: (sound, db) => rewriting(sound, (change) => withYoungKey(db, change)),
  },
];

const rewriting = (sound: Backend, rewrite: (change: Change) => Change): Backend => ({
  ...sound,
  // One by one: the expectations of a change must be true when it is applied.
  apply: (changes) => changes.flatMap((change) => sound.apply([rewrite(change)])),
});

const withoutDedupe = (change: Change): Change => ({
  ...change,
  ops: change.ops.map((op) => (op.op === "message.post" ? { ...op, dedupe: undefined } : op)),
});

/** Every twentieth settlement is left out of its change. */
function tearing(): (change: Change) => Change {
  let settled = 0;
  return (change) => {
    const tears = change.ops.some(({ op }) => op === "message.settle") && ++settled % 20 === 0;
    return tears ? { ...change, ops: change.ops.filter(({ op }) => op !== "message.settle") } : change;
  };
}

const YOUNG_MS = 3_000;

/** An agent that was just created is not found by its key. */
function withYoungKey(db: Database, change: Change): Change {
  const made = db.sql.prepare("SELECT created_at FROM agents WHERE session_key = ?");
  return {
    ...change,
    ops: change.ops.map((op) => {
      if (op.op !== "message.post" || !("sessionKey" in op.to) || !op.to.create) return op;
      const row = made.get(op.to.sessionKey);
      if (!row || change.at - Number(row.created_at) > YOUNG_MS) return op;
      const sessionKey = `${op.to.sessionKey}#${change.id}` as SessionKey;
      return { ...op, to: { sessionKey, create: { ...op.to.create, sessionKey } } };
    }),
  };
}

/** Replaces everything the owner claims by the true values, and lets any node claim an agent of another node. */
function believed(db: Database, change: Change): Change {
  if (change.ops.some(({ op }) => op === "agents.claim")) {
    db.sql.exec("UPDATE agents SET node = NULL WHERE run_id IS NOT NULL");
    db.agentCache.clear();
  }
  if (!change.owner) return change;
  const row = db.sql.prepare("SELECT node, epoch, next_pos FROM agents WHERE id = ?").get(change.owner.agentId);
  if (!row || row.node === null) return change;
  const { agentId } = change.owner;
  return {
    ...change,
    owner: { agentId, node: Number(row.node), epoch: Number(row.epoch) },
    ops: change.ops.map((op) => (op.op === "entries.append" ? { ...op, position: Number(row.next_pos) } : op)),
  };
}

const isResult = (result: CommitResult | Error | undefined): result is CommitResult =>
  result !== undefined && !(result instanceof Error);

function releasingBlindly(sound: Backend, db: Database): Backend {
  const release = db.sql.prepare("UPDATE agents SET node = NULL, waiting = 0, cursor = next_seq - 1 WHERE id = ?");
  return {
    ...sound,
    apply: (changes) =>
      sound.apply(changes).map((result, index) => {
        if (!isResult(result) || !result.ok) return result;
        const refused = result.results.some((one) => one?.op === "agent.release" && !one.released);
        const agentId = changes[index]?.owner?.agentId;
        if (!refused || !agentId) return result;
        release.run(agentId);
        db.agentCache.clear();
        return { ok: true, results: [{ op: "agent.release", released: true }] };
      }),
  };
}

/** Every second message draws its number early and is overtaken by the next. */
function drawingEarly(sound: Backend, db: Database): Backend {
  const reserved = new Map<AgentId, number>();
  const renumber = db.sql.prepare(
    "UPDATE messages SET seq = ? WHERE seq = ? AND agent = (SELECT no FROM agents WHERE id = ?)",
  );
  const redupe = db.sql.prepare(
    "UPDATE dedupe SET seq = ? WHERE seq = ? AND agent = (SELECT no FROM agents WHERE id = ?)",
  );
  const next = db.sql.prepare("UPDATE agents SET next_seq = ? WHERE id = ?");
  const move = (agentId: AgentId, from: number, to: number): void => {
    renumber.run(to, from, agentId);
    redupe.run(to, from, agentId);
    next.run(Math.max(from, to) + (to < from ? 0 : 1), agentId);
    db.agentCache.clear();
  };
  const draw = (said: OpResult | undefined): OpResult | undefined => {
    if (said?.op !== "message.post" || said.duplicate) return said;
    const early = reserved.get(said.agentId);
    const seq = early ?? said.seq + 1;
    move(said.agentId, said.seq, seq);
    if (early === undefined) reserved.set(said.agentId, said.seq);
    else reserved.delete(said.agentId);
    return { ...said, seq };
  };
  return {
    ...sound,
    apply: (changes) =>
      changes.flatMap((change) =>
        sound
          .apply([change])
          .map((result) => (isResult(result) && result.ok ? { ok: true, results: result.results.map(draw) } : result)),
      ),
  };
}

/** Every fortieth accepted message is acknowledged but not stored. */
function answeringEarly(sound: Backend): Backend {
  let accepted = 0;
  const lost: OpResult = { op: "message.post", agentId: "lost" as AgentId, seq: 1, duplicate: false, created: false };
  return {
    ...sound,
    apply: (changes) =>
      changes.flatMap((change) =>
        change.site === "accept" && ++accepted % 40 === 0 ? [{ ok: true, results: [lost] }] : sound.apply([change]),
      ),
  };
}
