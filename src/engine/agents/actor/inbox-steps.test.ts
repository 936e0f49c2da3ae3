/** An agent answers stops, commands and questions about children without a run. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { stall } from "../../../../test/kit/model.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { family, openFamily } from "../../subagents/family.test-kit.ts";

const never = new Promise<never>(() => {});

describe("the answer to a stop", () => {
  async function stopped(engine: TestEngine): Promise<readonly unknown[]> {
    await engine.send({ kind: "stop" });
    await engine.settle();
    const [message] = await engine.store.messages(await engine.agentId(), { limit: 1 });
    return [engine.shown().at(-1), message?.state, message?.reason];
  }

  it("says that it stopped the run", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, never) });
    await engine.tell("work");
    expect(await stopped(engine)).toEqual(["⚙️ Agent was aborted.", "recorded", "stopped the run"]);
    // A run that an earlier stop ended is not named again.
    await engine.advance(1);
    expect(await stopped(engine)).toEqual(["No active inference to stop.", "recorded", "no run to stop"]);
  });

  it("reports nothing to stop after a finished run, and without any run", async () => {
    const engine = await TestEngine.open();
    const nothing = ["No active inference to stop.", "recorded", "no run to stop"];
    await engine.send({ kind: "system", text: "psst", silent: true });
    expect(await stopped(engine)).toEqual(nothing);
    await engine.tell("hi");
    expect(await stopped(engine)).toEqual(nothing);
  });

  test.each([
    ["one", ["spawn dig"], "⚙️ Agent was aborted. Stopped 1 sub-agent."],
    ["two", ["spawn dig", "spawn climb"], "⚙️ Agent was aborted. Stopped 2 sub-agents."],
  ])("counts the children that it stopped: %s", async (_title, asked, text) => {
    const engine = await openFamily({ child: (call) => stall(call, never) });
    for (const one of asked) await engine.tell(one);
    await stopped(engine);
    expect(engine.shown()).toContain(text);
    for (const { id } of await engine.store.children(await engine.agentId(), { limit: 9 })) {
      expect((await engine.states(id))[0]).toBe("aborted");
    }
  });
});

describe("a command", () => {
  test.each<[string, MessageBody, RegExp, string]>([
    ["status", { kind: "command", name: "status", text: "" }, /./, "answered /status"],
    ["children", { kind: "subagents", command: "list" }, /./, "answered about children"],
  ])(
    "is answered where it came from, or in its own trace without an address: %s",
    async (_title, body, text, reason) => {
      const engine = await TestEngine.open();
      await engine.tell("hi");
      await engine.send(body);
      await engine.send(body, { delivery: undefined });
      await engine.settle();
      const [unread, read] = await engine.store.messages(await engine.agentId(), { limit: 2 });
      const answer = engine.shown().at(-1) ?? "";
      expect(answer).toMatch(text);
      expect(engine.shown()).toHaveLength(2);
      expect([read?.state, read?.reason, unread?.state]).toEqual(["recorded", reason, "recorded"]);
      expect(unread?.reason).not.toBe(reason);
      expect(engine.requests).toHaveLength(1);
    },
  );

  it("about children changes them in the commit that answers it", async () => {
    const engine = await openFamily({ child: (call) => stall(call, never) });
    await engine.tell("spawn dig");
    await engine.send({ kind: "subagents", command: "stop all" });
    await engine.settle();
    const [child] = await engine.store.children(await engine.agentId(), { limit: 9 });
    expect((await engine.states(child?.id))[0]).toBe("aborted");
  });
});

it("reports to the requester of a child whose message gets no run", async () => {
  const hold = Promise.withResolvers<string>();
  const engine = await openFamily(
    { child: () => hold.promise },
    { settings: { lanes: { main: 2, subagent: 1, cron: 1, nested: 1 } } },
  );
  await engine.tell("spawn one");
  await engine.tell("spawn two");
  const children = await engine.store.children(await engine.agentId(), { limit: 9 });
  const waits = children.map(({ id }) => engine.system.runs.queued(id)).find((id) => id !== undefined);
  if (waits) await engine.system.runs.abort(waits);
  await engine.settle();
  const reports = (await engine.store.messages(await engine.agentId(), { limit: 9 })).filter(
    ({ body }) => body.kind === "report",
  );
  expect([waits !== undefined, reports.length]).toEqual([true, 1]);
  engine.script = family();
  hold.resolve("done");
  await engine.settle();
});

it("remembers the writer of a silent note as someone who has spoken", async () => {
  const engine = await TestEngine.open();
  await engine.tell("hi");
  const behalf = { person: "eve" as PersonId };
  await engine.send({ kind: "system", text: "psst", silent: true }, { behalf });
  await engine.settle();
  expect((await engine.agent()).state.speakers).toEqual(["eve"]);
  expect((await engine.transcript()).at(-1)).toContain("psst");
});
