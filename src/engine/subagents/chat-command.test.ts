import { describe, expect, it } from "vitest";
import type { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText } from "../../../test/kit/model.ts";
import { answerSubagentsCommand } from "./chat-command.ts";
import { childrenOf, family, openFamily, records } from "./family.test-kit.ts";

let ids = 0;
/** Types a command as a person, and returns the answer. */
async function type(engine: TestEngine, text: string): Promise<string | undefined> {
  const before = engine.shown().length;
  const conversation = { connector: "test", channelId: "ann", userId: "ann", delivery: { channel: "test", to: "ann" } };
  await engine.hosts.get("test")?.accept({ ...conversation, messageId: `typed-${++ids}`, text });
  await engine.settle();
  return engine.shown()[before];
}

/** A person whose agent has two children, which work until the gate is opened. */
async function withChildren() {
  const door = gate();
  const engine = await openFamily({
    spawn: { label: "look" },
    child: async (_, task) => door.promise.then(() => task),
  });
  for (const task of ["one", "two"]) await engine.tell(`spawn ${task}`);
  return { engine, door };
}

describe("/subagents", () => {
  it("lists the children of the conversation, with and without the word list", async () => {
    const { engine } = await withChildren();
    const list = await type(engine, "/subagents");
    expect(list).toMatch(/^2 at work, 0 ended\.\n1\. look: working \(.*\)\n2\. look: working/u);
    expect(await type(engine, "/Subagents LIST")).toBe(list);
    expect(await engine.states()).toEqual(["answered", "answered", "recorded", "recorded"]);
  });

  it("does not show the children of other agents", async () => {
    const { engine } = await withChildren();
    await engine.system.post({ ...engine.person("bob"), body: { kind: "subagents", command: "list" } });
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("No children.");
  });

  it.each([
    [
      "/subagents nonsense",
      [
        "⚙️ Usage: /subagents <list|stop|log|send|info>",
        "- /subagents list",
        "- /subagents stop <id|#|all>",
        "- /subagents log <id|#> [limit]",
        "- /subagents send <id|#> <message>",
        "- /subagents info <id|#>",
      ].join("\n"),
    ],
    ["/subagents stop", "⚙️ Usage: /subagents stop <id|#|all>"],
    ["/subagents log", "⚙️ Usage: /subagents log <id|#> [limit]"],
    ["/subagents send 1", "⚙️ Usage: /subagents send <id|#> <message>"],
    ["/subagents info", "⚙️ Usage: /subagents info <id|#>"],
    ["/subagents info 7", '⚙️ There is no child "7". List the children to see their numbers and run ids.'],
    ["/subagents stop look", '⚙️ 2 children are called "look". List the children to see their numbers and run ids.'],
    ["/subagents log 1", "⚙️ look:\nuser: task one"],
    ["/subagents send 2 hurry up", "⚙️ Sent to look."],
    ["/subagents stop 1", "⚙️ Stop requested for look."],
    ["/subagents stop all", "⚙️ Stop requested for 2 sub-agents."],
  ])("answers the command %s", async (typed, answer) => {
    const { engine } = await withChildren();
    expect(await type(engine, typed)).toBe(answer);
  });

  it("shows all details of one child", async () => {
    const { engine } = await withChildren();
    const [first] = (await records(engine)).toSorted((a, b) => a.createdAt - b.createdAt);
    const told = await type(engine, "/subagents info #1");
    expect(told?.split("\n")).toEqual([
      "⚙️ Subagent",
      "Status: working",
      "Label: look",
      expect.stringMatching(/^Task: task (one|two)$/u),
      expect.stringMatching(/^Run: /u),
      expect.stringMatching(/^Session: agent:main:subagent:/u),
      `Created: ${new Date(first?.createdAt as number).toISOString()}`,
      expect.stringMatching(/^Started: /u),
      "Ended: n/a",
      "Cleanup: keep",
      "Waiting: 0",
    ]);
  });

  it("stops all children, each of which still reports, and answers that there are none if none is left", async () => {
    const { engine } = await withChildren();
    await type(engine, "/subagents stop all");
    await engine.advance(10_000);
    expect((await records(engine)).map(({ endedAt }) => endedAt !== undefined)).toEqual([true, true]);
    expect(await type(engine, "/subagents stop all")).toBe("⚙️ No children are at work.");
    expect(await type(engine, "/subagents stop 1")).toBe("⚙️ That child has ended already.");
  });

  it("sends a child the typed message", async () => {
    const { engine, door } = await withChildren();
    await type(engine, "/subagents send 1 look in the cellar");
    door.open();
    await engine.advance(5_000);
    const heard = await Promise.all((await childrenOf(engine)).map(({ id }) => engine.transcript(id)));
    expect(heard.flat().filter((line) => line === "user: look in the cellar")).toHaveLength(1);
  });

  it("is answered at the next step of a run, not after it", async () => {
    const { engine } = await withChildren();
    const [first, second] = [gate(), gate()];
    engine.script = async (call) => {
      const words = lastText(call.request);
      if (words !== "long work") return family()(call);
      if (call.request.messages.at(-1)?.role === "tool") {
        await second.promise;
        return "done at last";
      }
      await first.promise;
      return { call: [{ name: "subagents", with: { action: "list" } }] };
    };
    await engine.tell("long work");
    expect(await type(engine, "/subagents list")).toBeUndefined();
    first.open();
    await engine.settle();
    expect(engine.shown().at(-1)).toMatch(/^2 at work/u);
    second.open();
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("done at last");
    expect(engine.shown().filter((text) => text.startsWith("2 at work"))).toHaveLength(1);
  });

  it("is answered once if the process dies before or after the answer", async () => {
    const { engine } = await withChildren();
    engine.onCommit = (change) => (change.site === "subagents" ? "die-after" : "go");
    await type(engine, "/subagents");
    await engine.restart();
    await engine.advance(2_000);
    expect(engine.shown().filter((text) => text.startsWith("2 at work"))).toHaveLength(1);
  });
});

describe("/subagents log", () => {
  const lines = async (typed: string): Promise<number | undefined> => {
    let asked: number | undefined;
    const store = {
      agent: async () => ({ id: "child" }),
      linesBack: async (_: string, { limit }: { limit: number }) => {
        asked = limit;
        return [];
      },
    };
    const subagents = { list: async () => [{ runId: "r1", childAgentId: "child", label: "look" }] };
    const ports = { store, clock: { now: () => 0 } };
    const agent = { sessionKey: "agent:main:main" };
    const { text, ops } = await answerSubagentsCommand(ports as never, subagents as never, agent as never, typed);
    expect([text, ops]).toEqual(["⚙️ look:\nNothing was said yet.", []]);
    return asked;
  };

  it.each([
    ["log 1", 20],
    ["log 1 5", 5],
    ["log 1 200", 200],
    ["log 1 201", 200],
    ["log 1 0", 20],
    ["log 1 -3", 1],
    ["log 1 many", 20],
  ])("%s reads the last %d lines", async (typed, count) => {
    expect(await lines(typed)).toBe(count);
  });
});
