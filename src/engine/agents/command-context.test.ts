/** Commands in a chat: they show and change the conversation by the rights of the person who types them. */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { inTurn, lastText, stall } from "../../../test/kit/model.ts";
import { TestTools } from "../../../test/kit/tools.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import { commit, putPerson } from "./agent-system.test-kit.ts";

const memory = async () => ({ name: "MEMORY.md", text: "secret notes", names: ["MEMORY.md"] });

/** An engine that knows Ann and Bob, and Olga as its owner. The conversation belongs to Ann. */
async function open({ system, ...more }: TestEngineOptions = {}): Promise<TestEngine> {
  const engine = await TestEngine.open({
    ...more,
    system: { commands: { memory }, ...system },
    settings: { owner: { accounts: ["test:olga"] } },
  });
  for (const id of ["ann", "bob"]) await putPerson(engine, id, [{ ask: "exec" }]);
  await engine.tell("hello", { sender: { connector: "test", userId: "ann" } });
  return engine;
}

/** Types a command in Ann's conversation and returns the answer. */
async function type(engine: TestEngine, name: string, text = "", by?: string): Promise<string> {
  const sender = by === undefined ? undefined : { connector: "test", userId: by };
  const source = sender && { connector: "test", channelId: "ann", messageId: `c${engine.commits.length}` };
  await engine.send({ kind: "command", name, text }, { sender, source });
  await engine.settle();
  return engine.shown().at(-1) ?? "";
}
const level = async (engine: TestEngine) => (await engine.store.agent(await engine.agentId()))?.state.thinkingLevel;

describe("/memory", () => {
  test.each<[string | undefined, boolean]>([
    ["ann", true],
    [undefined, true],
    ["bob", false],
    ["stranger", false],
  ])("shows notes only to the person they belong to (by %s)", async (by, shown) => {
    expect((await type(await open(), "memory", "", by)).includes("secret notes")).toBe(shown);
  });

  it("knows the person by each of their accounts", async () => {
    const engine = await TestEngine.open({ system: { commands: { memory } } });
    await engine.tell("hello", { sender: { connector: "test", userId: "ann" } });
    await putPerson(engine, "ann");
    await engine.advance(11_000);
    expect(await type(engine, "memory", "", "ann")).toContain("secret notes");
  });
});

describe("a command that changes the conversation", () => {
  test.each<[string, string, TestEngineOptions["system"], boolean]>([
    ["its own person", "ann", { rights: {} }, true],
    ["the owner", "olga", { rights: {} }, true],
    ["another person", "bob", { rights: {} }, false],
    ["another person where nothing is judged", "bob", {}, true],
  ])("is for %s (%s): %j", async (_title, by, system, may) => {
    const engine = await open({ system });
    const said = await type(engine, "think", "high", by);
    expect([await level(engine), said.includes("You may not use")]).toEqual([may ? "high" : undefined, !may]);
  });

  it("is refused if the person loses the right before the commit", async () => {
    const engine = await open({ system: { rights: {} } });
    let changed = false;
    engine.onCommit = ({ ops }) => {
      const sets = ops.some((op) => JSON.stringify(op).includes("thinkingLevel"));
      if (sets && !changed) {
        changed = true;
        void commit(engine, { op: "person.remove", id: "ann" });
      }
      return "go";
    };
    await type(engine, "think", "high", "ann");
    await engine.advance(60_000);
    expect([changed, await level(engine)]).toEqual([true, undefined]);
    expect(engine.shown().at(-1)).toContain("You may not use");
  });

  it("works in a session with untrusted text", async () => {
    const engine = await open({ system: { rights: {} } });
    await engine.tell("quoted", { sender: { connector: "test", userId: "ann", untrusted: true } });
    await type(engine, "think", "high", "ann");
    expect(await level(engine)).toBe("high");
  });
});

describe("/status", () => {
  it("shows the cost, the run and what waits of this conversation", async () => {
    const tools = new TestTools({ dig: {} });
    const engine = await open({
      tools: tools.specs,
      system: { contextLimits: () => ({ ...DEFAULT_CONTEXT_LIMITS, contextWindow: 900 }) },
    });
    await engine.tell("hello", { name: "bob" });
    expect((await type(engine, "status", "", "ann")).split("\n")).toEqual([
      expect.stringContaining("Model: scripted-1"),
      "Context: 15 of 900 tokens (2 %)",
      expect.stringMatching(/^Today: 15 tokens/),
      "Run: none",
      "Waiting: nothing",
    ]);
    const held = tools.hold("dig");
    engine.script = inTurn({ call: [{ name: "dig" }] }, (call) => stall(call, new Promise(() => {})));
    await engine.tell("busy", { sender: { connector: "test", userId: "ann" } });
    for (const body of [{ kind: "compact" }, { kind: "user", text: "later" }] as const) await engine.send(body);
    await type(engine, "status", "", "ann");
    held.release();
    await engine.settle();
    const said = engine.shown().at(-1);
    expect(said).toMatch(/Run: \w+\nWaiting:\n- compact: waits .*\n- "later": waits /u);
    expect(said).not.toContain("command");
  });

  test.each<[string, boolean]>([
    ["ann", true],
    ["olga", true],
    ["bob", false],
  ])("lists the open questions that %s may see: %s", async (by, sees) => {
    const engine = await open({
      ...{ tools: { exec: { rights: ["exec"], replay: "never" } }, system: { rights: {} } },
      script: ({ request }) => (lastText(request).endsWith("go") ? { call: [{ name: "exec" }] } : "hello"),
    });
    await engine.tell("go", { sender: { connector: "test", userId: "ann" } });
    const of = { sender: { connector: "test", userId: by }, name: by };
    await engine.send({ kind: "command", name: "status", text: "" }, of);
    await engine.settle();
    expect(engine.shown().at(-1)?.includes("exec waits for a yes: /approve")).toBe(sees);
  });
});

describe("/approve", () => {
  test.each<[string | undefined, string]>([
    ["test", "test"],
    [undefined, "chat"],
  ])("answers for the person who typed it, on the surface %s", async (connector, surface) => {
    const engine = await open({
      ...{ tools: { exec: { rights: ["exec"], replay: "never" } }, system: { rights: {} } },
      script: inTurn("hello", { call: [{ name: "exec" }] }, "done"),
    });
    await engine.tell("go", { sender: { connector: "test", userId: "ann" } });
    const [question] = await engine.store.approvals({ limit: 1 });
    const source = connector === undefined ? undefined : { connector, channelId: "olga", messageId: "m" };
    const to = engine.person("olga");
    const body = { kind: "command", name: "approve", text: question?.id ?? "" } as const;
    await engine.system.post({ ...to, body, source, behalf: { person: OWNER as PersonId } });
    await engine.settle();
    expect(await engine.store.approvals({ limit: 1 })).toMatchObject([{ decidedBy: "owner", surface }]);
    expect(engine.executions).toHaveLength(1);
  });
});
