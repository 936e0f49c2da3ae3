import { describe, expect, it } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { gate, lastText, type Nest, stall } from "../../../engine/agents/engine.test-kit.ts";
import { childrenOf, type Family, openFamily, records, reportsIn } from "../../../engine/subagents/family.test-kit.ts";

const forever: Family = { child: (call) => stall(call, new Promise(() => {}), "so far") };

/** A family whose requester calls the tool when it is told to: `use {...}`. */
async function withTool(about: Family, options = {}): Promise<Nest> {
  const nest = await openFamily(about, options);
  const script = nest.script;
  nest.script = (call) => {
    const use = /^use (.*)$/su.exec(lastText(call.request))?.[1];
    if (use === undefined) return script(call);
    const last = call.request.messages.at(-1);
    if (last?.role === "tool") return `tool: ${lastText(call.request, "tool")}`;
    return { call: [{ name: "subagents", with: JSON.parse(use) as Record<string, unknown> }] };
  };
  return nest;
}
const use = async (nest: Nest, given: object): Promise<string> => {
  await nest.tell(`use ${JSON.stringify(given)}`);
  return nest.shown().at(-1) ?? "";
};

describe("the tool subagents", () => {
  it("lists one's own children, each with what it is at", async () => {
    const ready = gate<string>();
    const nest = await withTool({
      child: (_, task) => (task === "a" ? "done" : ready.promise),
    });
    expect(await use(nest, { action: "list" })).toBe("tool: No children.");
    for (const what of ["a", "b"]) await nest.tell(`spawn ${what}`);
    expect(await use(nest, { action: "list" })).toMatch(
      /^tool: 1 at work, 1 ended\.\n1\. task a: completed successfully \(0s\), run \S+\n2\. task b: working \(0s\), run \S+$/u,
    );
    ready.open("found");
  });

  it("shows everything about one, and what it has said", async () => {
    const nest = await withTool({});
    await nest.tell("spawn a");
    expect(await use(nest, { action: "info", id: "1" })).toContain('"state": "completed successfully"');
    expect(await use(nest, { action: "log", id: "1" })).toBe("tool: user: task a\nassistant: found a");
  });

  it.each([
    [{ action: "info" }, "tool: The action info needs an id."],
    [{ action: "info", id: "nobody" }, 'tool: There is no child "nobody". List the children to see'],
    [{ action: "send", id: "1" }, "tool: The action send needs a text."],
    [{ action: "release", id: "1" }, "tool: It is at work and still owes its report."],
    [{ action: "wait", id: "1", timeoutSeconds: 0 }, "tool: task a is still at work."],
  ])("answers %j with %s", async (given, said) => {
    const nest = await withTool(forever);
    await nest.tell("spawn a");
    await nest.say(`use ${JSON.stringify(given)}`);
    await nest.advance(1_000);
    expect(nest.shown().at(-1)).toContain(said);
  });

  it("knows the children of others not at all", async () => {
    const nest = await withTool(forever);
    await nest.tell("spawn a");
    const [record] = await records(nest);
    await nest.tell(`use ${JSON.stringify({ action: "stop", id: record?.runId })}`, { name: "bob" });
    expect(nest.shown().at(-1)).toContain("There is no child");
  });

  it("says something into a child's run, and to one that rests", async () => {
    const said = gate<string>();
    const nest = await withTool({
      child: ({ request }) =>
        request.messages.at(-1)?.role === "tool" ? "done" : said.promise.then(() => ({ call: [{ name: "nothing" }] })),
    });
    await nest.tell("spawn a");
    expect(await use(nest, { action: "send", id: "1", text: "look left" })).toBe("tool: Sent to task a.");
    said.open("");
    await nest.settle();
    const [child] = await childrenOf(nest);
    expect(await nest.transcript(child?.id)).toContain("user: look left");
    expect(await reportsIn(nest)).toHaveLength(1);
    await use(nest, { action: "send", id: "1", text: "and now?" });
    await nest.settle();
    const from = await nest.agentId();
    expect(await nest.transcript(child?.id)).toContain(
      `user: <system_message origin="${from}">and now?</system_message>`,
    );
  });

  it("stops a child, which reports, and releases it afterwards", async () => {
    const nest = await withTool(forever);
    await nest.tell("spawn a");
    await nest.tell(`use ${JSON.stringify({ action: "stop", id: "1" })}`);
    expect(nest.shown()).toContain("tool: task a is being stopped.");
    expect(await reportsIn(nest)).toHaveLength(1);
    expect(await use(nest, { action: "stop", id: "1" })).toBe("tool: task a has ended already.");
    expect(await use(nest, { action: "release", id: "1" })).toBe("tool: task a is released.");
    expect(await records(nest)).toEqual([]);
  });
});

describe("waiting for a child", () => {
  it("gives the place in the lane back, also three deep in a lane for one", async () => {
    const wait = { call: [{ name: "subagents", with: { action: "wait", id: "1", timeoutSeconds: 60 } }] };
    const nest = await openFamily(
      {
        child: ({ request }, task) => {
          const calls = request.messages.filter(({ role }) => role === "tool").length;
          if (task === "leaf" || calls === 2) return `done ${task}`;
          const below = task === "top" ? "middle" : "leaf";
          return calls === 0 ? { call: [{ name: "sessions_spawn", with: { task: `task ${below}` } }] } : wait;
        },
      },
      { system: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 }, subagents: { maxDepth: 3 } } },
    );
    await nest.tell("spawn top");
    await nest.advance(5_000);
    expect((await records(nest)).map(({ task, outcome }) => [task, outcome?.status]).sort()).toEqual([
      ["task leaf", "ok"],
      ["task middle", "ok"],
      ["task top", "ok"],
    ]);
    expect(await nest.store.waits({ limit: 9 })).toEqual([]);
  });

  it.each(["a crash", "a drain"])("goes on after %s", async (how) => {
    const ready = gate<string>();
    const nest = await withTool({ child: (call) => stall(call, ready.promise) });
    await nest.tell("spawn a");
    await nest.tell(`use ${JSON.stringify({ action: "wait", id: "1" })}`);
    if (how === "a drain") await nest.drain();
    await nest.restart();
    await nest.advance(1_000);
    ready.open("found");
    await nest.advance(2_000);
    expect(nest.shown()).toContain("tool: task a completed successfully. Its report follows.");
    expect(nest.shown().filter((text) => text.startsWith("tool:"))).toHaveLength(1);
  });

  it("settles for a child nobody knows, and for one whose time is up", async () => {
    const nest = await openFamily(forever);
    expect(await nest.system.subagents.wait("nobody")).toEqual({ status: "unknown" });
    await nest.tell("spawn a");
    const [record] = await records(nest);
    const waiting = nest.system.subagents.wait(record?.runId ?? "", { timeoutMs: 3_000 });
    await nest.advance(4_000);
    expect(await waiting).toEqual({ status: "timeout" });
  });
});

describe("an archived child", () => {
  it("that a late message wakes can have children again, and is told of them", async () => {
    const nest = await openFamily(
      { child: (_, task) => `found ${task}` },
      { system: { subagents: { maxDepth: 2 }, pollMs: 20 * 60_000 } },
    );
    await nest.tell("spawn a");
    await nest.advance(61 * 60_000);
    expect(await records(nest)).toEqual([]);
    const [child] = await childrenOf(nest);
    const script = nest.script;
    nest.script = (call) =>
      lastText(call.request).includes("once more") && call.request.messages.at(-1)?.role === "user"
        ? { call: [{ name: "sessions_spawn", with: { task: "task b" } }] }
        : script(call);
    await nest.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "system", text: "once more" } });
    await nest.settle();
    expect((await reportsIn(nest)).map(({ agentId, state }) => [agentId, state])).toEqual([
      [await nest.agentId(), "answered"],
      [child?.id, "answered"],
    ]);
  });
});
