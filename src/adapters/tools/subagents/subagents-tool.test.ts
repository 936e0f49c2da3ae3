import { describe, expect, it } from "vitest";
import type { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, stall } from "../../../../test/kit/model.ts";
import type { AgentId } from "../../../core/ids.ts";
import { childrenOf, type Family, openFamily, records, reportsIn } from "../../../engine/subagents/family.test-kit.ts";

const forever: Family = { child: (call) => stall(call, new Promise(() => {}), "so far") };

/** An agent with children that calls the tool for a message `use {...}`. */
async function withTool(about: Family, options = {}): Promise<TestEngine> {
  const engine = await openFamily(about, options);
  const script = engine.script;
  engine.script = (call) => {
    const use = /^use (.*)$/su.exec(lastText(call.request))?.[1];
    if (use === undefined) return script(call);
    const last = call.request.messages.at(-1);
    if (last?.role === "tool") return `tool: ${lastText(call.request, "tool")}`;
    return { call: [{ name: "subagents", with: JSON.parse(use) as Record<string, unknown> }] };
  };
  return engine;
}
const use = async (engine: TestEngine, given: object): Promise<string> => {
  await engine.tell(`use ${JSON.stringify(given)}`);
  return engine.shown().at(-1) ?? "";
};

describe("the tool subagents", () => {
  it("lists the caller's children with their state", async () => {
    const ready = gate<string>();
    const engine = await withTool({
      child: (_, task) => (task === "a" ? "done" : ready.promise),
    });
    expect(await use(engine, { action: "list" })).toBe("tool: No children.");
    for (const what of ["a", "b"]) await engine.tell(`spawn ${what}`);
    expect(await use(engine, { action: "list" })).toMatch(
      /^tool: 1 at work, 1 ended\.\n1\. task a: completed successfully \(0s\)\n2\. task b: working \(0s\)$/u,
    );
    ready.open("found");
  });

  it("shows a child's record and its log", async () => {
    const engine = await withTool({});
    await engine.tell("spawn a");
    expect(await use(engine, { action: "info", id: "1" })).toContain('"state": "completed successfully"');
    expect(await use(engine, { action: "log", id: "1" })).toBe("tool: user: task a\nassistant: found a");
  });

  it.each([
    [{ action: "info" }, "tool: The action info needs an id."],
    [{ action: "info", id: "nobody" }, 'tool: There is no child "nobody". List the children to see'],
    [{ action: "send", id: "1" }, "tool: The action send needs a text."],
    [{ action: "release", id: "1" }, "tool: The child still runs and has not reported yet."],
    [{ action: "wait", id: "1", timeoutSeconds: 0 }, "tool: task a is still at work."],
  ])("answers %j with %s", async (given, said) => {
    const engine = await withTool(forever);
    await engine.tell("spawn a");
    await engine.say(`use ${JSON.stringify(given)}`);
    await engine.advance(1_000);
    expect(engine.shown().at(-1)).toContain(said);
  });

  it("does not find the children of other agents", async () => {
    const engine = await withTool(forever);
    await engine.tell("spawn a");
    const [record] = await records(engine);
    await engine.tell(`use ${JSON.stringify({ action: "stop", id: record?.runId })}`, { name: "bob" });
    expect(engine.shown().at(-1)).toContain("There is no child");
  });

  it("sends a message to an active child and to an idle one", async () => {
    const said = gate<string>();
    const engine = await withTool({
      child: ({ request }) =>
        request.messages.at(-1)?.role === "tool" ? "done" : said.promise.then(() => ({ call: [{ name: "nothing" }] })),
    });
    await engine.tell("spawn a");
    expect(await use(engine, { action: "send", id: "1", text: "look left" })).toBe("tool: Sent to task a.");
    said.open("");
    await engine.settle();
    const [child] = await childrenOf(engine);
    expect(await engine.transcript(child?.id)).toContain("user: look left");
    expect(await reportsIn(engine)).toHaveLength(1);
    await use(engine, { action: "send", id: "1", text: "and now?" });
    await engine.settle();
    const from = await engine.agentId();
    expect(await engine.transcript(child?.id)).toContain(
      `user: <system_message origin="${from}">and now?</system_message>`,
    );
  });

  it("stops a child, which reports, and releases it afterwards", async () => {
    const engine = await withTool(forever);
    await engine.tell("spawn a");
    await engine.tell(`use ${JSON.stringify({ action: "stop", id: "1" })}`);
    expect(engine.shown()).toContain("tool: task a is being stopped.");
    expect(await reportsIn(engine)).toHaveLength(1);
    expect(await use(engine, { action: "stop", id: "1" })).toBe("tool: task a has ended already.");
    expect(await use(engine, { action: "release", id: "1" })).toBe("tool: task a is released.");
    expect(await records(engine)).toEqual([]);
  });
});

describe("waiting for a child", () => {
  it("releases the lane, also three levels deep in a lane of one", async () => {
    const wait = { call: [{ name: "subagents", with: { action: "wait", id: "1", timeoutSeconds: 60 } }] };
    const engine = await openFamily(
      {
        child: ({ request }, task) => {
          const calls = request.messages.filter(({ role }) => role === "tool").length;
          if (task === "leaf" || calls === 2) return `done ${task}`;
          const below = task === "top" ? "middle" : "leaf";
          return calls === 0 ? { call: [{ name: "sessions_spawn", with: { task: `task ${below}` } }] } : wait;
        },
      },
      { settings: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 }, subagents: { maxDepth: 3 } } },
    );
    await engine.tell("spawn top");
    await engine.advance(5_000);
    expect((await records(engine)).map(({ task, outcome }) => [task, outcome?.status]).sort()).toEqual([
      ["task leaf", "ok"],
      ["task middle", "ok"],
      ["task top", "ok"],
    ]);
    expect(await engine.store.waits({ limit: 9 })).toEqual([]);
  });

  it.each(["a crash", "a drain"])("continues after %s", async (how) => {
    const ready = gate<string>();
    const engine = await withTool({ child: (call) => stall(call, ready.promise) });
    await engine.tell("spawn a");
    await engine.tell(`use ${JSON.stringify({ action: "wait", id: "1" })}`);
    if (how === "a drain") await engine.drain();
    await engine.restart();
    await engine.advance(1_000);
    ready.open("found");
    await engine.advance(2_000);
    expect(engine.shown()).toContain("tool: task a completed successfully. Its report follows.");
    expect(engine.shown().filter((text) => text.startsWith("tool:"))).toHaveLength(1);
  });

  it("ends for an unknown child and after a timeout", async () => {
    const engine = await openFamily(forever);
    expect(await engine.system.subagents.wait("nobody")).toEqual({ status: "unknown" });
    await engine.tell("spawn a");
    const [record] = await records(engine);
    const waiting = engine.system.subagents.wait(record?.runId ?? "", { timeoutMs: 3_000 });
    await engine.advance(4_000);
    expect(await waiting).toEqual({ status: "timeout" });
  });
});

describe("an archived child", () => {
  it("that a late message wakes can have children again and gets their reports", async () => {
    const engine = await openFamily(
      { child: (_, task) => `found ${task}` },
      { system: { pollMs: 20 * 60_000 }, settings: { subagents: { maxDepth: 2 } } },
    );
    await engine.tell("spawn a");
    await engine.advance(61 * 60_000);
    expect(await records(engine)).toEqual([]);
    const [child] = await childrenOf(engine);
    const script = engine.script;
    engine.script = (call) =>
      lastText(call.request).includes("once more") && call.request.messages.at(-1)?.role === "user"
        ? { call: [{ name: "sessions_spawn", with: { task: "task b" } }] }
        : script(call);
    await engine.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "once more" } });
    await engine.settle();
    expect((await reportsIn(engine)).map(({ agentId, state }) => [agentId, state])).toEqual([
      [await engine.agentId(), "answered"],
      [child?.id, "answered"],
    ]);
  });
});
