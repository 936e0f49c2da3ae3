import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { inTurn, lastText, type Reply, stall } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import type { AgentId, EntryId } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";

/** The id of the entry with this text. */
async function entryOf(engine: TestEngine, text: string): Promise<EntryId> {
  const found = (await engine.entries()).findLast((entry) => JSON.stringify(entry.content ?? "").includes(text));
  return found?.id as EntryId;
}

async function back(engine: TestEngine, to: string, summary?: string): Promise<void> {
  const done = engine.system.sessions.branch(await engine.agentId(), await entryOf(engine, to), { summary });
  await engine.settle();
  await done;
}

describe("going back to an entry", () => {
  it("continues from there before and after a restart, and keeps the old branch in history", async () => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    await back(engine, "answer to one");
    await engine.tell("other");
    expect(engine.heard()).toEqual(["one", "answer to one", "other"]);
    expect(await engine.transcript()).toContain("assistant: answer to three");
    await engine.restart();
    await engine.tell("more");
    expect(engine.heard()).toEqual(["one", "answer to one", "other", "answer to other", "more"]);
  });

  it("gives the model the summary of the old branch", async () => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    const left = (await engine.store.agent(await engine.agentId()))?.leaf;
    await back(engine, "answer to one", "We tried two. It failed.");
    await engine.tell("other");
    const told =
      "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nWe tried two. It failed.</summary>";
    expect(engine.heard()).toEqual(["one", "answer to one", told, "other"]);
    const entries = await engine.entries();
    expect(entries.find(({ type }) => type === "branch_summary")).toMatchObject({ fromId: left });
    await engine.restart();
    await engine.tell("more");
    expect(engine.heard().slice(0, 4)).toEqual(["one", "answer to one", told, "other"]);
  });

  it("lists another person as speaker only for a summary, which is their text", async () => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    const behalf = { person: "eve" as PersonId };
    const speakers = async () => (await engine.store.agent(await engine.agentId()))?.state.speakers;
    const entryId = await entryOf(engine, "answer to one");
    const go = async (summary?: string) => {
      await engine.system.post({ to: engine.person().to, body: { kind: "branch", entryId, summary }, behalf });
      await engine.settle();
    };
    await go();
    expect(await speakers()).toBeUndefined();
    await go("Eve says: it failed.");
    expect(await speakers()).toEqual(["eve"]);
  });

  it("can return to an earlier branch", async () => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    await back(engine, "answer to one");
    await engine.tell("other");
    await back(engine, "answer to two");
    await engine.tell("three");
    expect(engine.heard()).toEqual(["one", "answer to one", "two", "answer to two", "three"]);
  });

  it("gives a valid context after a call without a result", async () => {
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "work" }] }, "done", "again"),
      tools: { work: {} },
    });
    await engine.tell("one");
    await back(engine, "toolCall");
    await engine.tell("two");
    expect((JSON.parse(engine.sentBytes.at(-1) ?? "[]") as { role: string }[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
    ]);
  });

  it("is refused at once for an entry of an earlier session, of another agent, or of an unknown agent", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const old = await entryOf(engine, "answer to one");
    await engine.send({ kind: "reset", by: "person" });
    await engine.tell("two");
    const agentId = await engine.agentId();
    await expect(engine.system.sessions.branch(agentId, old)).rejects.toMatchObject({ code: "not_found" });
    await expect(engine.system.sessions.branch(agentId, "x" as EntryId)).rejects.toThrow(
      "not part of the current session",
    );
    await expect(engine.system.sessions.branch("nobody" as AgentId, old)).rejects.toThrow("There is no agent nobody.");
    await expect(engine.system.sessions.branch(agentId, old, { summary: "x".repeat(100_001) })).rejects.toThrow(
      "at most 100000",
    );
  });

  it("waits for the active run and for earlier messages", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: async (call) => (call.n === 3 ? stall(call, hold.promise) : `answer to ${lastText(call.request)}`),
    });
    for (const text of ["one", "two", "three", "four"]) await engine.tell(text);
    const done = engine.system.sessions.branch(await engine.agentId(), await entryOf(engine, "answer to one"));
    await engine.settle();
    hold.open("late");
    await engine.settle();
    await done;
    expect(engine.shown()).toEqual(["answer to one", "answer to two", "late", "answer to four"]);
    await engine.tell("other");
    expect(engine.heard()).toEqual(["one", "answer to one", "other"]);
  });

  it("does nothing after a reset, and the message records the reason", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({
      script: async (call) => (call.n === 2 ? stall(call, hold.promise) : `answer to ${lastText(call.request)}`),
    });
    await engine.tell("one");
    await engine.tell("two");
    const agentId = await engine.agentId();
    const done = engine.system.sessions.branch(agentId, await entryOf(engine, "answer to one"));
    await engine.settle();
    await engine.send({ kind: "reset", by: "person" });
    hold.open("never heard");
    await engine.settle();
    await done;
    const [, , branch] = (await engine.store.messages(agentId, { limit: 9 })).toReversed();
    expect(branch).toMatchObject({ state: "recorded", reason: expect.stringContaining("not part of the current") });
    await engine.tell("three");
    expect(engine.heard()).toEqual(["three"]);
  });

  it.each([
    ["of the greatest length", "x".repeat(100_000), 1],
    ["that is empty, which writes none", "", 0],
  ])("accepts a summary %s", async (_title, summary, count) => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    await engine.system.sessions.postBranch(await engine.agentId(), await entryOf(engine, "answer to one"), summary);
    await engine.settle();
    expect((await engine.entries()).filter(({ type }) => type === "branch_summary")).toHaveLength(count);
    await engine.tell("other");
    expect(engine.heard()).toHaveLength(3 + count);
  });

  it("answers the person who asked for it", async () => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    const ask = async (entryId: string) => {
      await engine.send({ kind: "branch", entryId });
      await engine.settle();
      return engine.shown().at(-1);
    };
    expect(await ask(await entryOf(engine, "answer to one"))).toBe("Went back.");
    expect(await ask("gone")).toBe("The entry gone is not part of the current session.");
    const { leaf } = await engine.agent();
    expect(leaf).toBe(await entryOf(engine, "answer to one"));
  });

  it.each(["before", "after"] as const)("happens once after a crash %s its commit", async (moment) => {
    const engine = await TestEngine.open();
    for (const text of ["one", "two"]) await engine.tell(text);
    const [agentId, target] = [await engine.agentId(), await entryOf(engine, "answer to one")];
    engine.onCommit = dieAt("branch", moment);
    void engine.system.sessions.branch(agentId, target, { summary: "left" }).catch(() => {});
    await engine.settle();
    expect(engine.alive).toBe(false);
    await engine.restart();
    expect((await engine.entries()).filter(({ type }) => type === "branch_summary")).toHaveLength(1);
    await engine.tell("other");
    expect(engine.heard()).toHaveLength(4);
  });
});
