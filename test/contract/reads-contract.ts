/** What single reads answer: the first of several, none of another kind, nothing that has ended, and flags that are false. */
import { expect } from "vitest";
import type { DeliveryId, RunId } from "../../src/core/ids.ts";
import type { PersonId } from "../../src/core/people/person.ts";
import type { ApprovalId } from "../../src/core/rights/approval.ts";
import type { Op } from "../../src/core/store/change.ts";
import { person } from "./every-record.ts";
import { idOf, keyOf, type Opener, postOp, resetBody, runBody, START, storeTest, userBody } from "./fixture.ts";

const FAR = START * 2;
const R = "r" as RunId;
const ANN = "ann" as PersonId;

function reads(open: Opener): void {
  storeTest(
    "the mailboxes of a channel are listed by address, and none of a channel with a longer or shorter name",
    open,
    async (world) => {
      const a = await world.agent("a");
      const add = (id: string, channel: string, to?: string): Op => ({
        op: "delivery.add",
        delivery: {
          ...{ id: id as DeliveryId, agentId: a.id, payload: { text: id }, createdAt: START },
          target: to === undefined ? { channel } : { channel, to },
          waits: { state: "waiting-reader" },
        },
      });
      const boxes = [
        add("1", "api", "zoe"),
        add("2", "api", "ann"),
        add("3", "api", "zoe"),
        add("4", "apix", "ann"),
        add("5", "ap", "ann"),
        add("6", 'api","to":"', "x"),
        add("7", "api", "ann"),
      ];
      await world.done(boxes, a.owner);
      const listed = async (limit: number) => (await world.store.mailboxesOf("api", { limit })).map(({ id }) => id);
      expect(await listed(9)).toEqual(["2", "7", "1", "3"]);
      expect(await listed(3)).toEqual(["2", "7", "1"]);
      expect((await world.store.fullMailboxes(1)).map(({ count }) => count)).toEqual([2, 2]);
    },
  );

  storeTest("of two yeses to the same call the earlier one is found", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const ask = (id: string): Op => ({
      op: "approval.ask",
      approval: {
        ...{ id: id as ApprovalId, agentId: a.id, runId: R, callId: id, tool: "exec", arguments: {}, digest: "same" },
        ...{ behalf: { person: ANN }, prompt: "?", askedAt: START, dueAt: FAR },
      },
    });
    const yes = (id: string): Op => ({
      ...{ op: "approval.decide", id: id as ApprovalId, agentId: a.id, digest: "same", from: "pending" },
      ...{ to: "approved", until: FAR, by: "owner", surface: "cli" },
    });
    await world.done([ask("z"), ask("a"), yes("a"), yes("z")], a.owner);
    const found = async () => (await world.store.openApprovals(a.id)).map(({ id }) => id);
    expect(await found()).toEqual(["z", "a"]);
    await world.done(
      [{ op: "approval.use", id: "z" as ApprovalId, digest: "same", by: { runId: "r9" as RunId, callId: "c9" } }],
      a.owner,
    );
    expect(await found()).toEqual(["a"]);
  });

  storeTest("reservations are listed by their time, then by their id", open, async (world) => {
    const a = await world.agent("a");
    const call = { prompt: 1, maxTokens: 1, leastTokens: 1, read: 0, write: 0 };
    const reserve = (id: string): Op => ({
      op: "budget.reserve",
      id,
      runId: R,
      call,
      rows: [{ key: "tree:a", limit: {} }],
    });
    await world.done([reserve("3"), reserve("2")], a.owner);
    await world.done([reserve("1")], a.owner);
    const listed = async (limit: number) => (await world.store.reservations({ limit })).map(({ id }) => id);
    expect(await listed(9)).toEqual(["2", "3", "1"]);
    expect(await listed(2)).toEqual(["2", "3"]);
  });

  storeTest("a request knows whether a person has written after it, its own message aside", open, async (world) => {
    const a = await world.agent("a");
    const request = { by: "content", key: "k", isRetry: false, keepUntil: FAR } as const;
    await world.done([postOp({ agentId: a.id }, userBody("x"), START, { request })]);
    expect(await world.store.request("k")).toMatchObject({ later: false });
    await world.post(a.id, { kind: "system", text: "event" });
    expect(await world.store.request("k")).toMatchObject({ later: false });
    await world.post(a.id);
    expect(await world.store.request("k")).toMatchObject({ later: true });
  });

  storeTest("a wait of a run that ended well is not listed and closes no circle", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    await world.openRun(a, R);
    await world.openRun(b, "s");
    await world.done([{ op: "wait.begin", id: "w", from: a.id, to: { agentId: b.id }, runId: R }]);
    expect((await world.store.waits({ limit: 9 })).map(({ id }) => id)).toEqual(["w"]);
    await world.done([{ op: "run.end", runId: R, body: runBody(), outcome: "ok" }], a.owner);
    expect(await world.store.waits({ limit: 9 })).toEqual([]);
    expect(await world.store.waits({ limit: 9, from: a.id })).toEqual([]);
    await world.done([{ op: "wait.begin", id: "v", from: b.id, to: { agentId: a.id }, runId: "s" as RunId }]);
    expect((await world.store.waits({ limit: 9, from: b.id })).map(({ id }) => id)).toEqual(["v"]);
  });

  storeTest("the heartbeat's agent is no agent of a person, and none that was removed", open, async (world) => {
    await world.agent("a");
    expect(await world.store.agentFor("heartbeat")).toBeUndefined();
    const [h, i] = [await world.agent("h", { type: "heartbeat" }), await world.agent("i", { type: "heartbeat" })];
    expect((await world.store.agentFor("heartbeat"))?.id).toBe(i.id);
    await world.done([{ op: "agent.remove", agentId: i.id, reason: "x" }]);
    expect((await world.store.agentFor("heartbeat"))?.id).toBe(h.id);
  });

  storeTest("a person without files has no bytes stored", open, async (world) => {
    expect(await world.store.fileBytes("nobody")).toBe(0);
  });
}

function flags(open: Opener): void {
  storeTest("a flag that is false is as one that is left out", open, async (world) => {
    const a = await world.agent("a");
    expect(await world.done([{ op: "agent.create", seed: world.seed("a"), fresh: false }])).toMatchObject([
      { agentId: a.id, created: false },
    ]);
    const swarm = {
      ...{ nametag: "s", owner: a.id, profile: "main", firstName: "D", systemPrompt: "x" },
      ...{ memory: false, createdAt: START },
    };
    await world.done([
      { op: "swarm.put", swarm, fresh: true },
      { op: "swarm.put", swarm: { ...swarm, firstName: "E" }, fresh: false },
    ]);
    expect(await world.store.swarm("s")).toMatchObject({ firstName: "E" });
    expect(await world.refused([{ op: "swarm.put", swarm, fresh: true }])).toBe("conflict");
    await world.openRun(a, R);
    const abort = (fresh: boolean): Op => ({
      op: "run.abort",
      runId: R,
      mark: { reason: "person", at: START },
      fresh,
    });
    expect(await world.done([abort(false)])).toMatchObject([{ marked: true }]);
    expect(await world.done([abort(false)])).toMatchObject([{ marked: false }]);
    expect(await world.refused([abort(true)])).toBe("conflict");
    await world.done([{ op: "run.end", runId: R, body: runBody(), outcome: "aborted" }], a.owner);
    await world.done([{ op: "agent.remove", agentId: a.id, reason: "x", keep: false }]);
    expect(await world.store.linesBack(a.id, { limit: 9 })).toEqual([]);
  });

  storeTest("a contact without counts and without an agent is added to, not replaced", open, async (world) => {
    const swarm = {
      ...{ nametag: "s", owner: idOf("o"), profile: "main", firstName: "D", systemPrompt: "x" },
      ...{ memory: false, createdAt: START },
    };
    await world.done([{ op: "swarm.put", swarm }]);
    const contact = (rest: object): Op => ({ op: "swarm.contact", nametag: "s", contact: idOf("c"), ...rest });
    await world.done([contact({})]);
    expect(await world.store.swarmContact("s", idOf("c"))).toMatchObject({ messagesSent: 0, messagesReceived: 0 });
    await world.done([contact({ sent: 2, agentId: idOf("g") }), contact({ received: 3 })]);
    expect(await world.store.swarmContact("s", idOf("c"))).toMatchObject({
      ...{ messagesSent: 2, messagesReceived: 3, agentId: idOf("g") },
    });
  });

  storeTest("a message keeps what it is: a reset, an urgent one, one of a person", open, async (world) => {
    const a = await world.agent("a");
    await world.post(a.id, resetBody);
    await world.post(a.id);
    await world.post(a.id, { kind: "system", text: "event" });
    const urgent = await world.store.waiting(a.id, { limit: 9, urgent: true });
    expect(urgent.map(({ seq }) => seq)).toEqual([1]);
    expect(await world.store.waiting(a.id, { limit: 9, urgent: true, afterSeq: 1 })).toEqual([]);
    expect((await world.store.waiting(a.id, { limit: 9, afterSeq: 1 })).map(({ seq }) => seq)).toEqual([2, 3]);
    expect((await world.store.agentByKey(keyOf("a")))?.lastHumanAt).toBeDefined();
  });

  storeTest("an account that is named twice belongs to its person once", open, async (world) => {
    const ann = person("ann");
    await world.done([{ op: "person.put", person: { ...ann, accounts: ["test:x", "test:x"] } }]);
    expect((await world.store.personByAccount("test:x"))?.id).toBe("ann");
    await world.done([{ op: "person.put", person: { ...ann, accounts: [] } }]);
    expect(await world.store.personByAccount("test:x")).toBeUndefined();
  });
}

export function readsContract(open: Opener): void {
  reads(open);
  flags(open);
}
