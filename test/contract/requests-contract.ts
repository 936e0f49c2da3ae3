/** The ledger of HTTP requests: repeated ones with and without a key, decided in the commit that accepts (M18). */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AgentId, RunId } from "../../src/core/ids.ts";
import type { MessageBody } from "../../src/core/message/message.ts";
import type { Op, Posted } from "../../src/core/store/change.ts";
import type { KeyedEntry, RequestEntry } from "../../src/core/store/request.ts";
import { tries } from "../kit/share.ts";
import {
  closed,
  idOf,
  keyOf,
  type Opened,
  type Opener,
  postedIn,
  postOp,
  reopened,
  resetBody,
  runBody,
  START,
  storeTest,
  userBody,
  type World,
  worldOn,
} from "./fixture.ts";

const FAR = START * 2;
const content = (key: string, isRetry = false, keepUntil = FAR): RequestEntry => ({
  by: "content",
  key,
  isRetry,
  keepUntil,
});
const keyed = (key: string, digest: string, keepUntil = FAR): KeyedEntry => ({ by: "key", key, digest, keepUntil });

async function ask(world: World, agentId: AgentId, request: RequestEntry, body: MessageBody = userBody("yes")) {
  return postedIn(await world.done([postOp({ agentId }, body, world.now, { request })]));
}
const finish = (world: World, key: string, { agentId, seq }: Pick<Posted, "agentId" | "seq">) =>
  world.done([{ op: "request.finish", key, agentId, seq }]);

const YES_NO = [false, true] as const;
const CASES = YES_NO.flatMap((isRetry) =>
  YES_NO.flatMap((finished) =>
    YES_NO.flatMap((later) =>
      (["waits", "is settled", "is settled, and a restart"] as const).map((message) => ({
        ...{ isRetry, finished, later, message },
      })),
    ),
  ),
);
const settle = (world: World, { owner }: Awaited<ReturnType<World["agent"]>>, seq: number) =>
  world.done([{ op: "message.settle", settlements: [{ seq, from: "waiting", state: "answered" }] }], owner);

export function requestsContract(open: Opener): void {
  for (const { isRetry, finished, later, message } of CASES) {
    const joins = isRetry ? !(finished && later) : !finished && (message === "waits" || !later);
    const title = [
      isRetry ? "a marked retry" : "the same words",
      finished ? "after a finished response" : "after a response that was cut",
      later ? "and a later message" : "and no later message",
      `whose message ${message}`,
      joins ? "join the earlier request" : "are a new message",
    ];
    storeTest(title.filter((part) => part !== "").join(" "), open, async (world, opened, context) => {
      const a = await world.agent("a");
      const first = await ask(world, a.id, content("k"));
      if (message !== "waits") await settle(world, a, first.seq);
      if (finished) await finish(world, "k", first);
      if (later) await world.post(a.id);
      // Heartbeats, reports and other requests in between change nothing.
      await world.post(a.id, { kind: "trigger", text: "tick", trigger: { type: "heartbeat", id: "h" } });
      await world.post(a.id, { kind: "system", text: "event", silent: true });
      await world.post((await world.agent("b")).id);
      if (message === "is settled, and a restart") await reopened(world, opened, context);
      const again = await ask(world, a.id, content("k", isRetry));
      expect(again.duplicate).toBe(joins);
      expect(again.seq === first.seq).toBe(joins);
      // The row belongs to the latest request.
      expect(await world.store.request("k")).toMatchObject({ message: { agentId: a.id, seq: again.seq } });
    });
  }

  test("any sequence of requests, ends, messages and restarts follows the rule", async () => {
    const opened = await open();
    const world = await worldOn(opened.store);
    let runs = 0;
    try {
      const property = fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 30 }), (steps) =>
        followsRule(world, opened, `n${runs++}`, steps),
      );
      await fc.assert(property, { numRuns: tries(40), seed: 18 });
    } finally {
      await closed(world, opened);
    }
  });

  storeTest("a reset by a person counts as going on, one by the clock does not", open, async (world) => {
    const a = await world.agent("a");
    const first = await ask(world, a.id, content("k"));
    await settle(world, a, first.seq);
    await world.post(a.id, { kind: "reset", by: "daily" });
    expect(await ask(world, a.id, content("k"))).toMatchObject({ duplicate: true, seq: first.seq });
    await world.post(a.id, resetBody);
    expect(await ask(world, a.id, content("k"))).toMatchObject({ duplicate: false });
  });

  storeTest("joins a request whose message a run took or merged, until that run ends", open, async (world) => {
    const a = await world.agent("a");
    const [taken, merged] = [await ask(world, a.id, content("t")), await ask(world, a.id, content("m"))];
    await world.post(a.id);
    const runId = "run" as RunId;
    await world.done(
      [
        { op: "run.open", runId, body: runBody() },
        { op: "message.take", runId, seqs: [taken.seq] },
        { op: "message.settle", settlements: [{ seq: merged.seq, from: "waiting", state: "merged", runId }] },
      ],
      a.owner,
    );
    const repeat = async () => [
      (await ask(world, a.id, content("t"))).duplicate,
      (await ask(world, a.id, content("m"))).duplicate,
    ];
    expect(await repeat()).toEqual([true, true]);
    expect([(await world.store.request("t"))?.open, (await world.store.request("m"))?.open]).toEqual([true, true]);
    await world.done(
      [
        { op: "message.settle", settlements: [{ seq: taken.seq, from: "taken", state: "answered", runId }] },
        { op: "run.end", runId, outcome: "ok", body: runBody() },
      ],
      { ...a.owner, run: { id: runId, step: 1 } },
    );
    expect([(await world.store.request("t"))?.open, (await world.store.request("m"))?.open]).toEqual([false, false]);
    expect(await repeat()).toEqual([false, false]);
  });

  storeTest("a thousand other requests in between displace nothing", open, async (world) => {
    const a = await world.agent("a");
    const first = await ask(world, a.id, content("cut"));
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => ask(world, a.id, content(`other ${n}`))));
    expect(await ask(world, a.id, content("cut", true))).toMatchObject({ duplicate: true, seq: first.seq });
  });

  storeTest(
    "of many requests with the same content at once one is accepted, and the others join it",
    open,
    async (world) => {
      const a = await world.agent("a");
      const all = await Promise.all(Array.from({ length: 40 }, () => ask(world, a.id, content("k"))));
      expect(all.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
      expect(new Set(all.map(({ seq }) => seq)).size).toBe(1);
    },
  );

  storeTest("a request that would make an agent joins without making one", open, async (world) => {
    const post = async (name: string, request: RequestEntry) =>
      postedIn(
        await world.done([
          postOp({ sessionKey: keyOf(name), create: world.seed(name) }, userBody("yes"), world.now, { request }),
        ]),
      );
    expect(await post("a", content("k"))).toMatchObject({ agentId: idOf("a"), created: true });
    expect(await post("b", content("k", true))).toMatchObject({ agentId: idOf("a"), duplicate: true });
    expect(await world.store.agent(idOf("b"))).toBeUndefined();
    await finish(world, "k", { agentId: idOf("a"), seq: 1 });
    expect(await post("c", content("k"))).toMatchObject({ agentId: idOf("c"), created: true, duplicate: false });
    expect(await post("d", keyed("key", "x"))).toMatchObject({ agentId: idOf("d"), created: true });
    expect(await post("e", keyed("key", "x"))).toMatchObject({ agentId: idOf("d"), duplicate: true });
  });

  storeTest("a request joins no removed agent", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await ask(world, a.id, content("k"));
    await world.done([{ op: "message.settle", settlements: [{ seq, from: "waiting", state: "answered" }] }], a.owner);
    await world.done([{ op: "agent.remove", agentId: a.id, reason: "test" }]);
    const b = await world.agent("b");
    expect(await ask(world, b.id, content("k", true))).toMatchObject({ agentId: b.id, duplicate: false });
  });

  storeTest("a request with a key to an agent that was removed since is refused", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await ask(world, a.id, keyed("key", "x"));
    expect(await ask(world, a.id, keyed("key", "x"))).toMatchObject({ seq, duplicate: true });
    await world.done([{ op: "message.settle", settlements: [{ seq, from: "waiting", state: "answered" }] }], a.owner);
    await world.done([{ op: "agent.remove", agentId: a.id, reason: "test" }]);
    const again = postOp({ agentId: a.id }, userBody("x"), world.now, { request: keyed("key", "x") });
    expect(await world.refused([again])).toBe("missing");
  });

  storeTest("an end is recorded only for the latest request", open, async (world) => {
    const a = await world.agent("a");
    const first = await ask(world, a.id, content("k"));
    await settle(world, a, first.seq);
    await world.post(a.id);
    const second = await ask(world, a.id, content("k"));
    await finish(world, "k", first);
    expect(await world.store.request("k")).toMatchObject({ finished: false, message: { seq: second.seq } });
    // An end in the same commit counts before the post.
    const both = await world.done([
      { op: "request.finish", key: "k", agentId: a.id, seq: second.seq },
      postOp({ agentId: a.id }, userBody("yes"), world.now, { request: content("k") }),
    ]);
    expect(postedIn(both)).toMatchObject({ duplicate: false });
  });

  storeTest("a key is one message for one digest, and refused for another", open, async (world) => {
    const a = await world.agent("a");
    const first = await ask(world, a.id, keyed("k", "x"));
    await world.post(a.id);
    await finish(world, "k", first);
    expect(await ask(world, a.id, keyed("k", "x"))).toMatchObject({ duplicate: true, seq: first.seq });
    const other = postOp({ agentId: a.id }, userBody("no"), world.now, { request: keyed("k", "y") });
    expect(await world.refused([other])).toBe("conflict");
    const put = { op: "request.put", request: keyed("k", "y"), reply: "{}" } as const;
    expect(await world.refused([put])).toBe("conflict");
    expect(await world.store.agent(a.id)).toMatchObject({ nextSeq: 3 });
  });

  storeTest("a reply is committed with what it answers, and only once", open, async (world, opened, context) => {
    const put = (digest: string, value: string) =>
      [
        { op: "fact.put", key: "effect", value },
        { op: "request.put", request: keyed("k", digest), reply: `{"was":"${value}"}` },
      ] as const;
    await world.done(put("x", "1"));
    expect(await world.refused(put("x", "2"))).toBe("conflict");
    expect(await world.refused(put("y", "3"))).toBe("conflict");
    await reopened(world, opened, context);
    expect(await world.store.fact("effect")).toBe("1");
    expect(await world.store.request("k")).toEqual({
      key: "k",
      digest: "x",
      message: undefined,
      finished: false,
      later: false,
      open: false,
      reply: '{"was":"1"}',
      keepUntil: FAR,
    });
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        world.commit([{ op: "request.put", request: keyed("race", "x"), reply: `${n}` }]),
      ),
    );
    expect(all.filter(({ ok }) => ok)).toHaveLength(1);
  });

  storeTest("the reply to a posted message can be recorded later, once", open, async (world) => {
    const a = await world.agent("a");
    const { seq } = await ask(world, a.id, keyed("k", "x"));
    await world.done([{ op: "request.put", request: keyed("k", "x"), reply: "1" }]);
    expect(await world.refused([{ op: "request.put", request: keyed("k", "x"), reply: "2" }])).toBe("conflict");
    expect(await world.store.request("k")).toMatchObject({ reply: "1", message: { agentId: a.id, seq } });
  });

  storeTest("rows count until their time is over, and are pruned in bounded portions", open, async (world) => {
    const a = await world.agent("a");
    const until = world.now + 1_000;
    const first = await ask(world, a.id, content("short", false, until));
    await ask(world, a.id, keyed("key", "x", until));
    await world.done([{ op: "request.put", request: keyed("reply", "x", until), reply: "1" }]);
    await ask(world, a.id, content("long"));
    world.now = until;
    expect(await ask(world, a.id, content("short", true))).toMatchObject({ duplicate: false });
    expect(await ask(world, a.id, keyed("key", "y"))).toMatchObject({ duplicate: false });
    await world.done([{ op: "request.put", request: keyed("reply", "y", until), reply: "2" }]);
    expect(await world.store.request("reply")).toMatchObject({ digest: "y", reply: "2" });
    expect(first.seq).toBe(1);
    const portions: number[] = [];
    for (let after: string | undefined; ; ) {
      const [pruned] = await world.done([{ op: "prune", what: "requests", before: until + 1, limit: 2, after }]);
      if (pruned?.op !== "prune") throw new Error("No answer.");
      portions.push(pruned.removed);
      after = pruned.next;
      if (after === undefined) break;
    }
    expect(portions).toEqual([0, 1, 0]);
    expect(await world.store.request("reply")).toBeUndefined();
    expect(await world.store.request("long")).toBeDefined();
  });

  storeTest("an abort that must be fresh is refused if the run has ended or has a mark", open, async (world) => {
    const a = await world.agent("a");
    const runId = await world.openRun(a, "r");
    const abort = { op: "run.abort", runId, mark: { reason: "person", at: world.now }, fresh: true } as const;
    expect(await world.done([abort])).toMatchObject([{ marked: true }]);
    expect(await world.refused([abort])).toBe("conflict");
    expect(await world.done([{ ...abort, fresh: undefined }])).toMatchObject([{ marked: false }]);
  });

  storeTest("what runs have used is added up, and forgotten with its day", open, async (world) => {
    const key = "quota:2025-06-15:token:t";
    for (const tokens of [3, 4]) await world.done([{ op: "budget.charge", key, spent: { tokens, micros: 10 } }]);
    expect(await world.store.budget(key)).toMatchObject({ spent: { tokens: 7, micros: 20 }, reserved: { tokens: 0 } });
    await world.done([{ op: "budget.sweep", reservedBefore: 0, rowsBefore: world.now }]);
    expect(await world.store.budget(key)).toBeUndefined();
  });

  storeTest("a row that is put before a message refuses the message if the row was put before", open, async (world) => {
    const { id } = await world.agent("ann");
    const post = (key: string): readonly Op[] => [
      { op: "request.put", request: keyed("seen", "d"), reply: key },
      postOp({ agentId: id }, userBody("hi"), world.now, { request: keyed(key, "d") }),
    ];
    await world.done(post("k1"));
    expect(await world.refused(post("k2"))).toBe("conflict");
    expect(await world.store.request("k2")).toBeUndefined();
    expect(await world.store.request("seen")).toMatchObject({ reply: "k1" });
    expect(await world.store.request("k1")).toMatchObject({ message: { agentId: id, seq: 1 } });
    expect(await world.store.messages(id, { limit: 10 })).toHaveLength(1);
  });
}

type Step =
  | { readonly kind: "ask"; readonly agent: number; readonly words: number; readonly isRetry: boolean }
  | { readonly kind: "end"; readonly agent: number; readonly words: number }
  | { readonly kind: "settle"; readonly agent: number; readonly words: number }
  | { readonly kind: "say"; readonly agent: number }
  | { readonly kind: "tick"; readonly agent: number }
  | { readonly kind: "restart" };

const agent = fc.nat(1);
const words = fc.nat(2);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("ask" as const), agent, words, isRetry: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("end" as const), agent, words }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("settle" as const), agent, words }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("say" as const), agent }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("tick" as const), agent }) },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
);

/** Compares the store with a model that keeps every message and request in a list. */
async function followsRule(world: World, opened: Opened, name: string, steps: readonly Step[]): Promise<void> {
  const agents = [await world.agent(`${name}a`), await world.agent(`${name}b`)];
  /** For each message of each agent, whether a person wrote it. */
  const inboxes: boolean[][] = [[], []];
  const asked: { agent: number; words: number; seq: number; finished: boolean; open: boolean }[] = [];
  for (const step of steps) {
    if (step.kind === "restart") {
      if (!opened.reopen) continue;
      await world.store.close();
      world.store = await opened.reopen();
      continue;
    }
    const agent = agents[step.agent] as Awaited<ReturnType<World["agent"]>>;
    const agentId = agent.id;
    const inbox = inboxes[step.agent] as boolean[];
    if (step.kind === "say" || step.kind === "tick") {
      await world.post(agentId, step.kind === "say" ? userBody("more") : { kind: "system", text: "event" });
      inbox.push(step.kind === "say");
      continue;
    }
    const key = `${name}:${step.agent}:${step.words}`;
    const earlier = asked.findLast((one) => one.agent === step.agent && one.words === step.words);
    if (step.kind === "end") {
      if (!earlier) continue;
      await finish(world, key, { agentId, seq: earlier.seq });
      earlier.finished = true;
      continue;
    }
    if (step.kind === "settle") {
      if (!earlier?.open) continue;
      await settle(world, agent, earlier.seq);
      earlier.open = false;
      continue;
    }
    const later = earlier !== undefined && inbox.slice(earlier.seq).includes(true);
    const joins =
      earlier !== undefined &&
      (step.isRetry ? !(earlier.finished && later) : !earlier.finished && (earlier.open || !later));
    const posted = await ask(world, agentId, content(key, step.isRetry));
    expect([posted.duplicate, posted.seq]).toEqual(joins ? [true, earlier.seq] : [false, inbox.length + 1]);
    if (joins) continue;
    inbox.push(true);
    asked.push({ agent: step.agent, words: step.words, seq: posted.seq, finished: false, open: true });
  }
}
