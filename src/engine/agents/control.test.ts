/** What people do with agents, messages and runs of a node: one engine for all, a scripted model that waits at a gate. */
import { beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText } from "../../../test/kit/model.ts";
import type { AgentId, ChangeId, RunId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Op } from "../../core/store/change.ts";
import type { WantedPermanent } from "./put-permanent.ts";

const BY = { person: "olga", surface: "cli" };
const ANN = "ann" as PersonId;
let engine: TestEngine;
let door = gate();
let names = 0;

beforeAll(async () => {
  engine = await TestEngine.open({
    script: async ({ request }) => {
      const text = lastText(request);
      if (text.includes("slow")) await door.promise;
      return `answer to ${text}`;
    },
    system: { queue: { mode: "queue", debounceMs: 0, cap: 20, drop: "old", dedupe: "none", byChannel: {} } as never },
  });
});

/** A person of their own for each test, whose agent may be at work. */
async function conversation(...texts: string[]): Promise<{ name: string; id: AgentId }> {
  door = gate();
  const name = `p${++names}`;
  for (const text of texts) await engine.tell(text, { name });
  return { name, id: await engine.agentId(name) };
}
const open = async (): Promise<void> => {
  door.open();
  await engine.settle();
};
const runOf = (id: AgentId): RunId => engine.system.runs.live(id)?.id as RunId;
const messages = async (id: AgentId): Promise<string[]> =>
  [...(await engine.store.messages(id, { limit: 50 }))]
    .reverse()
    .map(({ seq, state, reason }) => `${seq} ${state} ${reason ?? ""}`.trim());
const fact = (key: string): Op => ({ op: "fact.put", key, value: "1" });

describe("dropping a message", () => {
  test("that waits settles it with who dropped it, and what the caller adds", async () => {
    const { id } = await conversation("slow one", "two", "three");
    let made: Message | undefined;
    const dropped = await engine.system.dropMessage({
      ...{ agentId: id, seq: 2, by: BY },
      also: (message) => {
        made = message;
        return [fact("dropped")];
      },
    });
    expect(dropped).toMatchObject({
      seq: 2,
      state: "dropped",
      reason: "dropped by olga",
      settledAt: engine.clock.now(),
    });
    expect(made).toEqual(dropped);
    expect(await engine.store.fact("dropped")).toBe("1");
    expect((await engine.store.audit({ limit: 1 }))[0]).toMatchObject({
      action: "message.drop",
      target: dropped.id,
      agentId: id,
    });
    await open();
    expect(await messages(id)).toEqual(["1 answered", "2 dropped dropped by olga", "3 answered"]);
  });

  test("that does not wait, is no one's to drop, or does not exist changes nothing", async () => {
    const { id } = await conversation("slow one");
    const drop = (seq: number, agentId = id) => engine.system.dropMessage({ agentId, seq, by: BY });
    await expect(drop(1)).rejects.toMatchObject({ code: "conflict", hint: "A run works on it. You can stop the run." });
    await expect(drop(9)).rejects.toMatchObject({ code: "not_found" });
    await expect(drop(1, "x".repeat(24) as AgentId)).rejects.toMatchObject({ code: "not_found" });
    await engine.send({ kind: "setting" }, { to: { agentId: id } } as never);
    await expect(drop(2)).rejects.toMatchObject({ code: "invalid_input" });
    await open();
    await expect(drop(1)).rejects.toMatchObject({
      code: "conflict",
      message: "Message 1 is answered.",
      hint: "Nothing was changed.",
    });
  });
});

describe("a run", () => {
  test("has its state from its queue to its end", async () => {
    const { id } = await conversation("slow one");
    const runId = runOf(id);
    expect(await engine.system.runs.state(runId)).toBe("streaming");
    expect(engine.system.runs.queued(id)).toBeUndefined();
    await open();
    expect(await engine.system.runs.state(runId)).toBe("ended");
    expect(await engine.system.runs.state("none" as RunId)).toBe("unknown");
    expect(engine.system.runs.live(id)).toBeUndefined();
  });

  test("is awaited until it ends, and not longer than asked", async () => {
    const { id } = await conversation("slow one");
    const runId = runOf(id);
    const [short, long] = [engine.system.runs.wait(runId, 1_000), engine.system.runs.wait(runId)];
    await engine.advance(999);
    await engine.advance(1);
    expect(await short).toEqual({ status: "timeout", state: "streaming" });
    await open();
    expect(await long).toMatchObject({ status: "ended", outcome: "ok", result: { runId } });
    expect(await engine.system.runs.wait(runId)).toMatchObject({ status: "ended", outcome: "ok", result: { runId } });
    expect(await engine.system.runs.wait("none" as RunId)).toEqual({ status: "unknown" });
  });

  test("is awaited for fifteen seconds by default", async () => {
    const { id } = await conversation("slow one");
    let ended: unknown;
    void engine.system.runs.wait(runOf(id)).then((end) => {
      ended = end;
    });
    await engine.advance(14_999);
    expect(ended).toBeUndefined();
    await engine.advance(1);
    expect(ended).toMatchObject({ status: "timeout" });
    await open();
  });

  test("is aborted once, with what the caller adds in the same commit", async () => {
    const { id } = await conversation("slow one");
    const runId = runOf(id);
    const made: boolean[] = [];
    const also = (key: string) => (aborted: boolean) => {
      made.push(aborted);
      return [fact(key)];
    };
    expect(await engine.system.runs.abort(runId, "person", also("aborted"))).toBe(true);
    await open();
    expect((await engine.store.run(runId))?.outcome).toBe("aborted");
    expect(await engine.store.fact("aborted")).toBe("1");
    expect(await engine.system.runs.abort(runId)).toBe(false);
    expect(await engine.system.runs.abort("none" as RunId)).toBe(false);
    expect(await engine.system.runs.abort(runId, "person", also("late"))).toBe(false);
    expect(await engine.store.fact("late")).toBe("1");
    expect(made).toEqual([true, true, false]);
  });

  test("is steered while it streams, for its own person", async () => {
    const { id, name } = await conversation("slow one");
    const runId = runOf(id);
    expect(await engine.system.runs.steer(runId, "and also", { behalf: { person: "eve" as PersonId } })).toBe(true);
    expect(await engine.system.runs.steer("none" as RunId, "x")).toBe(false);
    await open();
    expect(await engine.system.runs.steer(runId, "too late")).toBe(false);
    const [steered] = await engine.store.messages(id, { limit: 1 });
    expect(steered).toMatchObject({ seq: 2, body: { text: "and also" }, delivery: { channel: "test", to: name } });
    const of = (await engine.store.run(runId))?.body.behalf?.person;
    expect(steered?.behalf).toMatchObject({ person: of, through: expect.arrayContaining(["eve"]) });
  });
});

test("a wait for a message that its channel may not send any more ends at once", async () => {
  const source = { connector: "test", messageId: "old", sentAt: engine.clock.now() - 11 };
  const body = { kind: "user", text: "hi" } as const;
  const waiting = engine.system.postAndAwait({ ...engine.person(`p${++names}`), body, source, replayHorizonMs: 10 });
  await expect(waiting).rejects.toThrow("The message is older than its channel may deliver");
});

describe("an agent", () => {
  test("that is stopped begins nothing until it is started again", async () => {
    const { id, name } = await conversation("slow one", "two");
    await engine.system.lifecycle.stop(id, undefined, [fact("stopped")]);
    await open();
    expect((await engine.store.agent(id))?.stopped).toMatchObject({ reason: "stopped by a person" });
    expect(await engine.store.fact("stopped")).toBe("1");
    expect((await messages(id))[1]).toMatch(/^2 (?:aborted|discarded|dropped)/);
    await engine.system.lifecycle.startAgain(id, [fact("again")]);
    expect((await engine.store.agent(id))?.stopped).toBeUndefined();
    expect(await engine.store.fact("again")).toBe("1");
    await engine.tell("three", { name });
    expect((await messages(id)).at(-1)).toMatch(/answered$/);
    await expect(engine.system.lifecycle.stop("x".repeat(24) as AgentId)).rejects.toMatchObject({ code: "not_found" });
  });

  test("is removed when it has come to rest, and its address is free", async () => {
    const { id, name } = await conversation("slow one");
    const removed = engine.system.lifecycle.remove(id, "enough");
    await open();
    await engine.advance(1_000);
    await removed;
    expect((await engine.store.agent(id))?.stopped).toMatchObject({ removed: true, reason: "enough" });
    await expect(engine.system.lifecycle.remove(id)).rejects.toMatchObject({ code: "not_found" });
    await expect(engine.system.lifecycle.removeIdle(id)).rejects.toMatchObject({ code: "not_found" });
    await engine.tell("hello again", { name });
    const other = (await engine.store.agents({ limit: 1000 })).filter(
      ({ descriptor, stopped }) => descriptor.type === "user" && descriptor.userId === name && !stopped?.removed,
    );
    expect(other).toHaveLength(1);
    expect(other[0]?.id).not.toBe(id);
  });

  test("that does not come to rest is not removed, and the caller is told", async () => {
    const { id } = await conversation("slow one");
    engine.onCommit = (change) => (change.site === "agent.remove" ? "throw" : "go");
    const removed = engine.system.lifecycle.remove(id);
    void removed.catch(() => undefined);
    await engine.settle();
    engine.onCommit = () => "go";
    await expect(removed).rejects.toThrow();
    await open();
  });

  test("that is still at work after half a minute is not removed, and the caller is told then", async () => {
    const { id } = await conversation("slow one");
    const commit = engine.store.commit;
    const tries: number[] = [];
    const start = engine.clock.now();
    engine.store.commit = async (change) => {
      if (change.site !== "agent.remove") return commit(change);
      tries.push(engine.clock.now() - start);
      return { ok: false, refused: "conflict", detail: "at work" } as never;
    };
    let failed: unknown;
    void engine.system.lifecycle.remove(id).catch((error) => {
      failed = error;
    });
    await engine.advance(29_999);
    expect(failed).toBeUndefined();
    await engine.advance(1);
    expect(failed).toMatchObject({ code: "timeout" });
    expect([tries[1], tries.length]).toEqual([200, 151]);
    engine.store.commit = commit;
    await open();
  });

  test("without work is removed at once, and one with work is not", async () => {
    const { id } = await conversation("slow one");
    await expect(engine.system.lifecycle.removeIdle(id)).rejects.toMatchObject({ code: "denied" });
    await open();
    await engine.system.lifecycle.removeIdle(id);
    expect((await engine.store.agent(id))?.stopped?.removed).toBe(true);
  });

  test("of a forgotten person leaves a tombstone; one that is gone nothing", async () => {
    const { id } = await conversation("one");
    await engine.system.lifecycle.erase(id, "forgotten:1", [fact("erased")]);
    expect(await engine.store.fact("erased")).toBe("1");
    expect(await engine.store.messages(id, { limit: 5 })).toEqual([]);
    await engine.system.lifecycle.erase("x".repeat(24) as AgentId, "forgotten:2", [fact("not erased")]);
    expect(await engine.store.fact("not erased")).toBeUndefined();
  });

  test("of a swarm that does not exist is no one to remove", async () => {
    await expect(engine.system.lifecycle.removeSwarm("nobody")).rejects.toThrow("There is no swarm nobody");
  });
});

describe("a permanent agent", () => {
  const wanted = (more: Partial<WantedPermanent> = {}): WantedPermanent => ({
    ...{ name: "Clerk", description: "writes", systemPrompt: "You write." },
    ...more,
  });
  const put = (more?: Partial<WantedPermanent>, also?: Parameters<typeof engine.system.lifecycle.putPermanent>[2]) =>
    engine.system.lifecycle.putPermanent(wanted(more), { person: ANN }, also);

  test("is made once for its name, belongs to its person, and is changed in the order of its inbox", async () => {
    const made = await put({ username: "clerk" }, ({ agentId }) => [fact(`made ${agentId}`)]);
    expect(made.created).toBe(true);
    expect(await engine.store.agent(made.agentId)).toMatchObject({
      person: ANN,
      sessionKey: made.sessionKey,
      descriptor: {
        type: "permanent",
        id: made.agentId,
        name: "Clerk",
        description: "writes",
        systemPrompt: "You write.",
        username: "clerk",
      },
    });
    expect(await engine.store.fact(`made ${made.agentId}`)).toBe("1");
    const again = await put(
      { name: "CLERK", description: "writes more", username: "scribe" },
      ({ agentId, created }) => [fact(`put ${agentId} ${created}`)],
    );
    await engine.settle();
    expect(again).toEqual({ ...made, created: false });
    expect(await engine.store.fact(`put ${made.agentId} false`)).toBe("1");
    expect((await engine.store.agent(made.agentId))?.descriptor).toMatchObject({
      description: "writes more",
      username: "scribe",
    });
  });

  test("of another profile is another agent", async () => {
    const [one, other] = [await put({ name: "Two" }), await put({ name: "Two", profile: "work" })];
    expect(one.agentId).not.toBe(other.agentId);
    expect((await engine.store.agent(other.agentId))?.profile).toBe("work");
  });

  test("with the address of another name, or one that is being removed, is refused", async () => {
    const made = await put({ name: "My Clerk" });
    await expect(put({ name: " My Clerk " })).rejects.toThrow("The permanent agent My Clerk has the same address");
    const { agentId } = made;
    const mark = { at: engine.clock.now(), reason: "x", removing: true } as const;
    await engine.store.commit({
      id: "removing" as ChangeId,
      site: "t",
      at: 1,
      ops: [{ op: "agent.stop", agentId, mark }],
    });
    await expect(put({ name: "My Clerk" })).rejects.toThrow("The agent My Clerk is being removed");
  });
});
