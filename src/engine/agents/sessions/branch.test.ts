import { describe, expect, it } from "vitest";
import type { EntryId } from "../../../core/ids.ts";
import { dieAt, gate, inTurn, lastText, Nest, type Reply, stall } from "../engine.test-kit.ts";

/** The id of the entry that says this. */
async function entryOf(nest: Nest, text: string): Promise<EntryId> {
  const found = (await nest.entries()).findLast((entry) => JSON.stringify(entry.content ?? "").includes(text));
  return found?.id as EntryId;
}

const heard = (nest: Nest): readonly string[] =>
  (JSON.parse(nest.sentBytes.at(-1) ?? "[]") as { content: { text?: string }[] }[]).map(
    ({ content }) => content[0]?.text ?? "",
  );

async function back(nest: Nest, to: string, summary?: string): Promise<void> {
  const done = nest.system.branch(await nest.agentId(), await entryOf(nest, to), { summary });
  await nest.settle();
  await done;
}

describe("going back to an entry", () => {
  it("continues from there, also in memory; what is left behind stays in history", async () => {
    const nest = await Nest.open();
    for (const text of ["one", "two", "three"]) await nest.tell(text);
    await back(nest, "answer to one");
    await nest.tell("other");
    expect(heard(nest)).toEqual(["one", "answer to one", "other"]);
    expect(await nest.transcript()).toContain("assistant: answer to three");
    await nest.restart();
    await nest.tell("more");
    expect(heard(nest)).toEqual(["one", "answer to one", "other", "answer to other", "more"]);
  });

  it("tells the model what happened on the branch that was left", async () => {
    const nest = await Nest.open();
    for (const text of ["one", "two"]) await nest.tell(text);
    const left = (await nest.store.agent(await nest.agentId()))?.leaf;
    await back(nest, "answer to one", "We tried two. It failed.");
    await nest.tell("other");
    const told =
      "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nWe tried two. It failed.</summary>";
    expect(heard(nest)).toEqual(["one", "answer to one", told, "other"]);
    const entries = await nest.entries();
    expect(entries.find(({ type }) => type === "branch_summary")).toMatchObject({ fromId: left });
    await nest.restart();
    await nest.tell("more");
    expect(heard(nest).slice(0, 4)).toEqual(["one", "answer to one", told, "other"]);
  });

  it("can lead back to a branch that was left before", async () => {
    const nest = await Nest.open();
    for (const text of ["one", "two"]) await nest.tell(text);
    await back(nest, "answer to one");
    await nest.tell("other");
    await back(nest, "answer to two");
    await nest.tell("three");
    expect(heard(nest)).toEqual(["one", "answer to one", "two", "answer to two", "three"]);
  });

  it("to a call without its result gives the model a context it accepts", async () => {
    const nest = await Nest.open({
      script: inTurn({ call: [{ name: "work" }] }, "done", "again"),
      tools: { work: {} },
    });
    await nest.tell("one");
    await back(nest, "toolCall");
    await nest.tell("two");
    expect((JSON.parse(nest.sentBytes.at(-1) ?? "[]") as { role: string }[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
    ]);
  });

  it("is refused at once for an entry of an earlier session, of another agent, or of nobody", async () => {
    const nest = await Nest.open();
    await nest.tell("one");
    const old = await entryOf(nest, "answer to one");
    await nest.send({ kind: "reset", by: "person" });
    await nest.tell("two");
    const agentId = await nest.agentId();
    await expect(nest.system.branch(agentId, old)).rejects.toMatchObject({ code: "not_found" });
    await expect(nest.system.branch(agentId, "x" as EntryId)).rejects.toThrow("not part of the current session");
    await expect(nest.system.branch("nobody" as never, old)).rejects.toThrow("There is no agent nobody.");
    await expect(nest.system.branch(agentId, old, { summary: "x".repeat(100_001) })).rejects.toThrow("at most 100000");
  });

  it("waits for the run that is active, and for what was said before it", async () => {
    const hold = gate<Reply>();
    const nest = await Nest.open({
      script: async (call) => (call.n === 3 ? stall(call, hold.promise) : `answer to ${lastText(call.request)}`),
    });
    for (const text of ["one", "two", "three", "four"]) await nest.tell(text);
    const done = nest.system.branch(await nest.agentId(), await entryOf(nest, "answer to one"));
    await nest.settle();
    hold.open("late");
    await nest.settle();
    await done;
    expect(nest.shown()).toEqual(["answer to one", "answer to two", "late", "answer to four"]);
    await nest.tell("other");
    expect(heard(nest)).toEqual(["one", "answer to one", "other"]);
  });

  it("moves nothing where a reset came first, and the message says why", async () => {
    const hold = gate<Reply>();
    const nest = await Nest.open({
      script: async (call) => (call.n === 2 ? stall(call, hold.promise) : `answer to ${lastText(call.request)}`),
    });
    await nest.tell("one");
    await nest.tell("two");
    const agentId = await nest.agentId();
    const done = nest.system.branch(agentId, await entryOf(nest, "answer to one"));
    await nest.settle();
    await nest.send({ kind: "reset", by: "person" });
    hold.open("never heard");
    await nest.settle();
    await done;
    const [, , branch] = (await nest.store.messages(agentId, { limit: 9 })).toReversed();
    expect(branch).toMatchObject({ state: "recorded", reason: expect.stringContaining("not part of the current") });
    await nest.tell("three");
    expect(heard(nest)).toEqual(["three"]);
  });

  it.each(["before", "after"] as const)("happens once, whatever dies %s its commit", async (moment) => {
    const nest = await Nest.open();
    for (const text of ["one", "two"]) await nest.tell(text);
    const [agentId, target] = [await nest.agentId(), await entryOf(nest, "answer to one")];
    nest.fate = dieAt("branch", moment);
    void nest.system.branch(agentId, target, { summary: "left" }).catch(() => {});
    await nest.settle();
    expect(nest.alive).toBe(false);
    await nest.restart();
    expect((await nest.entries()).filter(({ type }) => type === "branch_summary")).toHaveLength(1);
    await nest.tell("other");
    expect(heard(nest)).toHaveLength(4);
  });
});
