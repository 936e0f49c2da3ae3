/** What a post answers, in full: the message that it made, or the one that it repeats (M5, M18). */
import { expect } from "vitest";
import type { AgentId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { idOf, keyOf, type Opener, postedIn, postOp, START, storeTest, userBody, type World } from "./fixture.ts";

const FAR = START * 2;
const keyed = (key: string) => ({ by: "key", key, digest: "d", keepUntil: FAR }) as const;
const content = (key: string) => ({ by: "content", key, isRetry: true, keepUntil: FAR }) as const;

/** How a message says what it is, so that it is recognised when it comes again. */
const MARKS: readonly (readonly [string, Partial<Extract<Op, { op: "message.post" }>>])[] = [
  ["its key", { dedupe: { key: "k", keepUntil: FAR } }],
  ["its request", { request: keyed("k") }],
  ["the content of its request", { request: content("k") }],
];

/** Without `alone`, which a store may leave out. */
async function posting(world: World, op: Op) {
  const { alone: _, ...answer } = postedIn(await world.done([op]));
  return answer;
}

const made = (agentId: AgentId, seq: number, created: boolean, holder?: object) => ({
  ...{ op: "message.post", agentId, seq, duplicate: false, created, holder },
});
const repeated = (agentId: AgentId, seq: number) => ({
  ...{ op: "message.post", agentId, seq, duplicate: true, created: false },
});

export function postedContract(open: Opener): void {
  storeTest("a new message answers with its agent, its sequence, and the node that holds it", open, async (world) => {
    const [a, b] = [idOf("a"), idOf("b")];
    const to = (name: string) => ({ sessionKey: keyOf(name), create: world.seed(name) });
    expect(await posting(world, postOp(to("a"), userBody("1"), START))).toEqual(made(a, 1, true));
    expect(await posting(world, postOp(to("a"), userBody("2"), START))).toEqual(made(a, 2, false));
    expect(await posting(world, postOp({ agentId: a }, userBody("3"), START))).toEqual(made(a, 3, false));
    const claimed = { node: world.node, epoch: 1 };
    const claim = { claimFor: world.node };
    expect(await posting(world, postOp({ agentId: a }, userBody("4"), START, claim))).toEqual(
      made(a, 4, false, claimed),
    );
    expect(await posting(world, postOp({ agentId: a }, userBody("5"), START))).toEqual(made(a, 5, false, claimed));
    expect(await posting(world, postOp(to("b"), userBody("1"), START, claim))).toEqual(made(b, 1, true, claimed));
  });

  for (const [title, mark] of MARKS)
    storeTest(`a message that comes again is the first one, by ${title}`, open, async (world) => {
      const [a, b] = [await world.agent("a"), await world.agent("b")];
      await world.post(a.id);
      await posting(world, postOp({ agentId: a.id }, userBody("x"), START, mark));
      const before = [await world.store.agent(a.id), await world.store.agent(b.id)];
      const recipients = [
        { agentId: a.id },
        { agentId: b.id },
        { sessionKey: keyOf("a") },
        { sessionKey: keyOf("new"), create: world.seed("new") },
      ];
      for (const to of recipients)
        expect(await posting(world, postOp(to, userBody("x"), START, mark))).toEqual(repeated(a.id, 2));
      expect([await world.store.agent(a.id), await world.store.agent(b.id)]).toEqual(before);
      expect(await world.store.agent(idOf("new"))).toBeUndefined();
      const other = { dedupe: { key: "l", keepUntil: FAR } };
      expect(await posting(world, postOp({ agentId: a.id }, userBody("x"), START, other))).toMatchObject({ seq: 3 });
    });
}
