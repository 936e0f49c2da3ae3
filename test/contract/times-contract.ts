/** Times are limits with two sides: what counts until a moment no longer counts at it. Leases, due times, horizons and sweeps. */
import { expect } from "vitest";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { StoredFile } from "../../src/core/message/stored-file.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Held, idOf, type Opener, postOp, START, storeTest, userBody, type World } from "./fixture.ts";

const FAR = START * 2;
const R = "r" as RunId;
const END = START + 1_000;

/** An agent that another node holds until `END`. */
async function heldByOther(world: World, name: string): Promise<{ held: Held; other: number }> {
  const other = await world.join("other", END);
  await world.done([{ op: "agent.create", seed: world.seed(name) }]);
  const [claimed] = await world.done([{ op: "agent.claim", agentId: idOf(name), node: other }]);
  const epoch = claimed?.op === "agent.claim" ? (claimed.epoch ?? 0) : 0;
  return { held: { id: idOf(name), owner: { agentId: idOf(name), node: other, epoch } }, other };
}

const at = (world: World, now: number): World => Object.assign(world, { now });

function leases(open: Opener): void {
  storeTest("a message is answered with the agent's holder until the moment its lease ends", open, async (world) => {
    const { held, other } = await heldByOther(world, "a");
    const post = (rest = {}): Op => postOp({ agentId: held.id }, userBody("x"), START, rest);
    const holder = { node: other, epoch: held.owner.epoch };
    expect(await at(world, END - 1).done([post({ claimFor: world.node })])).toMatchObject([{ holder }]);
    const [late] = await at(world, END).done([post()]);
    expect(late).not.toHaveProperty("holder.node");
    const claimed = { node: world.node, epoch: held.owner.epoch + 1 };
    expect(await at(world, END).done([post({ claimFor: world.node })])).toMatchObject([{ holder: claimed }]);
    expect(await world.store.agent(held.id)).toMatchObject(claimed);
  });

  storeTest(
    "a node that posts to an agent it holds keeps its epoch, also after its lease ended",
    open,
    async (world) => {
      const { held, other } = await heldByOther(world, "a");
      const post = postOp({ agentId: held.id }, userBody("x"), START, { claimFor: other });
      await at(world, END - 1).done([post]);
      await at(world, END + 1).done([post]);
      expect(await world.store.agent(held.id)).toMatchObject({ node: other, epoch: held.owner.epoch });
    },
  );

  storeTest(
    "an agent is claimed from another node at the moment its lease ends, and not before",
    open,
    async (world) => {
      const { held } = await heldByOther(world, "a");
      const claim: Op = { op: "agent.claim", agentId: held.id, node: world.node };
      expect(await at(world, END - 1).done([claim])).toEqual([{ op: "agent.claim" }]);
      expect(await at(world, END).done([claim])).toEqual([{ op: "agent.claim", epoch: held.owner.epoch + 1 }]);
      // What it holds already is claimed without a new epoch.
      expect(await at(world, END).done([claim])).toEqual([{ op: "agent.claim", epoch: held.owner.epoch + 1 }]);
    },
  );

  storeTest(
    "agents with work are claimed in portions, from nodes whose lease has ended at this moment",
    open,
    async (world) => {
      const { held, other } = await heldByOther(world, "a");
      await world.post(held.id);
      const claims = async (rest = {}) => {
        const [claimed] = await world.done([{ op: "agents.claim", node: world.node, limit: 2, ...rest }]);
        return claimed?.op === "agents.claim" ? claimed.claims.map(({ agentId }) => agentId) : [];
      };
      world.now = END - 1;
      expect(await claims()).toEqual([]);
      world.now = END;
      expect(await claims()).toEqual([held.id]);
      // It is this node's own now.
      expect(await claims()).toEqual([]);
      expect(await claims({ own: true })).toEqual([held.id]);
      for (const name of ["b", "c", "d"]) {
        await world.done([{ op: "agent.create", seed: world.seed(name) }]);
        await world.post(idOf(name));
      }
      expect(await claims({ after: idOf("b") })).toEqual([idOf("c"), idOf("d")]);
      expect(await claims()).toEqual([idOf("b")]);
      expect(other).toBeGreaterThan(0);
    },
  );

  storeTest(
    "a lease is renewed until the moment it ends, and not by a node that left or joined again",
    open,
    async (world) => {
      const [node, left, again] = [await world.join("n", END), await world.join("l", END), await world.join("a", END)];
      const renew = (of: number): Op => ({ op: "node.renew", node: of, leaseUntil: END });
      await at(world, END - 1).done([renew(node)]);
      expect(await at(world, END).refused([renew(node)])).toBe("fenced");
      world.now = START + 10;
      await world.done([{ op: "node.leave", node: left }]);
      expect(await world.refused([renew(left)])).toBe("fenced");
      await world.done([{ op: "node.join", name: "a", leaseUntil: END, was: again }]);
      expect(await world.refused([renew(again)])).toBe("fenced");
      const states = new Map((await world.store.nodes()).map((one) => [one.node, [one.left, one.returned]]));
      expect([states.get(node), states.get(left), states.get(again)]).toEqual([
        [false, false],
        [true, false],
        [false, true],
      ]);
    },
  );

  storeTest(
    "what a process held under its earlier number stays its own while that lease lasts",
    open,
    async (world) => {
      const { held, other } = await heldByOther(world, "a");
      await world.done([{ op: "node.join", name: "other", leaseUntil: END, was: other }]);
      const claim: Op = { op: "agent.claim", agentId: held.id, node: world.node };
      expect(await world.done([claim])).toEqual([{ op: "agent.claim" }]);
      await world.done([{ op: "node.leave", node: other }]);
      expect(await world.done([claim])).toEqual([{ op: "agent.claim", epoch: held.owner.epoch + 1 }]);
    },
  );

  storeTest("an agent is handed to a node whose lease has not ended, with the next epoch", open, async (world) => {
    const a = await world.agent("a");
    const other = await world.join("other", END);
    const hand: Op = { op: "agent.hand", to: other };
    expect(await at(world, END).refused([hand], a.owner)).toBe("missing");
    await at(world, END - 1).done([hand], a.owner);
    expect(await world.store.agent(a.id)).toMatchObject({ node: other, epoch: a.owner.epoch + 1 });
    expect(
      await at(world, START).refused([{ op: "agent.hand", to: 999 }], {
        ...a.owner,
        node: other,
        epoch: a.owner.epoch + 1,
      }),
    ).toBe("missing");
  });
}

function horizons(open: Opener): void {
  storeTest("a yes can be used until the moment it is due, by its own agent", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    await world.openRun(a, R);
    const ask = (id: string): Op => ({
      op: "approval.ask",
      approval: {
        ...{ id: id as ApprovalId, agentId: a.id, runId: R, callId: id, tool: "exec", arguments: {}, digest: id },
        ...{ behalf: { person: "ann" as PersonId }, prompt: "?", askedAt: START, dueAt: FAR },
      },
    });
    const yes = (id: string): Op => ({
      ...{ op: "approval.decide", id: id as ApprovalId, agentId: a.id, digest: id, from: "pending", to: "approved" },
      ...{ until: END, by: "owner", surface: "cli" },
    });
    const use = (id: string): Op => ({
      op: "approval.use",
      id: id as ApprovalId,
      digest: id,
      by: { runId: "r9" as RunId, callId: "c9" },
    });
    await world.done([ask("1"), ask("2"), yes("1"), yes("2")], a.owner);
    expect(await at(world, END).refused([use("1")], a.owner)).toBe("conflict");
    expect(await at(world, END - 1).refused([use("1")], b.owner)).toBe("conflict");
    await at(world, END - 1).done([use("1")], a.owner);
    expect(await at(world, END - 1).refused([use("1")], a.owner)).toBe("conflict");
    expect(await world.store.approval("2" as ApprovalId)).toMatchObject({ state: "approved" });
  });

  storeTest("a request is recognised until the moment it is forgotten", open, async (world) => {
    const a = await world.agent("a");
    const keyed = (digest: string) => ({ by: "key", key: "k", digest, keepUntil: END }) as const;
    const put = (digest: string): Op => ({ op: "request.put", request: keyed(digest), reply: digest });
    const post = (digest: string): Op => postOp({ agentId: a.id }, userBody("x"), START, { request: keyed(digest) });
    await world.done([put("one")]);
    expect(await at(world, END - 1).refused([put("other")])).toBe("conflict");
    expect(await at(world, END - 1).refused([post("other")])).toBe("conflict");
    expect(await at(world, END - 1).refused([put("one")])).toBe("conflict");
    await at(world, END).done([put("other")]);
    expect(await world.store.request("k")).toMatchObject({ reply: "other" });
    expect(await at(world, END).done([post("third")])).toMatchObject([{ duplicate: false }]);
  });

  storeTest("the end of another message's request finishes nothing", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const request = { by: "content", key: "k", isRetry: false, keepUntil: FAR } as const;
    await world.done([postOp({ agentId: a.id }, userBody("x"), START, { request })]);
    for (const [key, agentId, seq] of [
      ["k", a.id, 2],
      ["k", b.id, 1],
      ["l", a.id, 1],
    ] as const) {
      await world.done([{ op: "request.finish", key, agentId, seq }]);
      expect(await world.store.request("k")).toMatchObject({ finished: false });
    }
    await world.done([{ op: "request.finish", key: "k", agentId: a.id, seq: 1 }]);
    expect(await world.store.request("k")).toMatchObject({ finished: true });
  });
}

function sweeps(open: Opener): void {
  storeTest(
    "the sweep removes past rows of days, people and tokens, and no row of another kind",
    open,
    async (world) => {
      const DAILY = ["day", "person", "quota", "token", "profile", "messages"];
      const gone = DAILY.flatMap((kind) => [`${kind}:`, `${kind}:x`]);
      const stay = [...DAILY.flatMap((kind) => [kind, `${kind};`, `${kind}9`]), "agent:x", "tree:x", "d", "z"];
      const charge = (key: string): Op => ({ op: "budget.charge", key, spent: { tokens: 1, micros: 1 } });
      await at(world, START).done([...gone, ...stay].map(charge));
      await at(world, END).done([charge("day:later")]);
      const a = await at(world, START).agent("a");
      const free = { prompt: 1, maxTokens: 9, leastTokens: 1, read: 0, write: 0 };
      const rows = [{ key: "day:reserved", limit: {} }];
      await at(world, START).done([{ op: "budget.reserve", id: "1", runId: R, call: free, rows }], a.owner);
      const sweep = (reservedBefore: number): Op => ({ op: "budget.sweep", reservedBefore, rowsBefore: END });
      expect(await at(world, FAR).done([sweep(START)])).toEqual([
        { op: "budget.sweep", charged: 0, removed: gone.length },
      ]);
      const left = (await world.store.budgets({ limit: 99 })).map(({ key }) => key);
      expect(left.toSorted()).toEqual([...stay, "day:later", "day:reserved"].toSorted());
      expect(await at(world, FAR).done([sweep(START + 1)])).toMatchObject([{ charged: 1 }]);
    },
  );

  const file = (id: string, createdAt = START): StoredFile => ({
    ...{ id, sha: id.padStart(64, "0"), name: id, mimeType: "text/plain", size: 1, blob: `blob-${id}`, createdAt },
    ...{ behalf: { person: "ann" as PersonId }, shown: { as: "reference" } },
  });
  const stored = (one: StoredFile): Op[] => [
    { op: "file.stage", blobs: [one.blob], until: FAR },
    { op: "file.put", file: one, quota: 99 },
  ];
  const swept = async (world: World, rest: object = {}) => {
    const [result] = await world.done([{ op: "file.sweep", before: END, limit: 2, ...rest }]);
    if (result?.op !== "file.sweep") throw new Error("Not swept.");
    return result;
  };

  storeTest("the sweep walks over files that stay, and removes those older than the limit", open, async (world) => {
    const times = [START, END - 1, END, END, END, END, END];
    for (const [n, time] of times.entries()) await world.done(stored(file(`f${n}`, time)));
    const portions: number[] = [];
    let after: string | undefined;
    do {
      const portion = await swept(world, { after });
      portions.push(portion.removed);
      after = portion.next;
    } while (after !== undefined && portions.length < 20);
    expect(portions).toEqual([2, 0, 0, 0]);
    expect((await world.store.files({ limit: 9 })).map(({ id }) => id)).toEqual(["f2", "f3", "f4", "f5", "f6"]);
  });

  storeTest("a short history holds its files, and a delivery that was pruned holds none", open, async (world) => {
    await world.done([...stored(file("kept")), ...stored(file("sent"))]);
    const seed = { ...world.seed("a"), lines: ["{}"] };
    await world.done([{ op: "agent.create", seed }]);
    await world.done([
      { op: "file.hold", files: ["kept"], by: { agentId: seed.id } },
      { op: "file.hold", files: ["sent"], by: { delivery: "pruned" as DeliveryId } },
    ]);
    await world.done([{ op: "file.hold", files: [], by: { delivery: "d" as DeliveryId } }]);
    const b = await world.agent("b");
    const other = { id: "d" as DeliveryId, agentId: b.id, target: {}, payload: { text: "x" }, createdAt: START };
    await world.done([{ op: "delivery.add", delivery: other }], b.owner);
    expect(await swept(world, { limit: 9 })).toMatchObject({ removed: 1, blobs: ["blob-sent"] });
  });

  storeTest(
    "bytes nobody named are swept from the moment they are due, the oldest first, and staged ones stay",
    open,
    async (world) => {
      const stage = (blob: string, until: number): Op => ({ op: "file.stage", blobs: [blob], until });
      await world.done([stage("c", END + 2), stage("b", END), stage("a", END + 1), stage("later", FAR)]);
      expect((await swept(at(world, END - 1))).blobs).toEqual([]);
      expect((await swept(at(world, END))).blobs).toEqual(["b"]);
      expect((await swept(at(world, END + 2))).blobs).toEqual(["b", "a"]);
      await world.done([{ op: "file.gone", blobs: ["b", "a", "later"] }]);
      expect((await swept(at(world, END + 3))).blobs).toEqual(["c"]);
      // It was not swept yet, so it can still be named.
      await at(world, END + 4).done([{ op: "file.put", file: { ...file("x"), blob: "later" }, quota: 99 }]);
    },
  );
}

export function timesContract(open: Opener): void {
  leases(open);
  horizons(open);
  sweeps(open);
}
