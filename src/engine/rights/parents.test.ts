/** A child has at most the rights that its parents have now: rules and settings that they get while it works count for it (L13). */
import { describe, expect, it, test } from "vitest";
import type { TestEngine } from "../../../test/kit/engine.ts";
import { lastText } from "../../../test/kit/model.ts";
import type { SettingsPart } from "../../../test/kit/settings.ts";
import type { AgentId } from "../../core/ids.ts";
import { childrenOf, openFamily } from "../subagents/family.test-kit.ts";

const exec = { host: "gateway", security: "full", ask: "off" } as const;
const SETTINGS: SettingsPart = { owner: { accounts: ["test:ann"] }, profiles: { main: { exec } } };

type Between = (engine: TestEngine, parent: AgentId) => Promise<unknown>;

/** The parent's child uses `act`, then something happens, then it uses `act` again. */
async function acting(between: Between): Promise<{ engine: TestEngine; results: readonly string[] }> {
  let turn = 0;
  const engine: TestEngine = await openFamily(
    {
      child: ({ request }) => {
        if (request.messages.at(-1)?.role !== "tool") turn = 0;
        return ++turn <= 3 ? { call: [{ name: turn === 2 ? "pause" : "act" }] } : "done";
      },
    },
    {
      tools: {
        act: {
          rights: ["exec"],
          effects: () => [{ action: "act", rights: ["exec"], detail: { kind: "command", argv: ["act"], cwd: "/" } }],
        },
        pause: {
          execute: async () => {
            await between(engine, await engine.agentId());
            return "paused";
          },
        },
      },
      system: { rights: {} },
      settings: SETTINGS,
    },
  );
  await engine.tell("spawn x");
  const [child] = await childrenOf(engine);
  const lines = child ? await engine.transcript(child.id) : [];
  return { engine, results: lines.filter((line) => line.startsWith("tool: ") && !line.includes("paused")) };
}

/** Until the parent's state has it. */
async function applied({ store }: TestEngine, parent: AgentId, field: string): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if ((await store.agent(parent))?.state[field] !== undefined) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`the parent has no ${field}`);
}

const DENY = { add: { deny: "act", note: "enough" } } as const;

describe("a child at work", () => {
  test.each<[string, Between, RegExp]>([
    [
      "a rule that its parent gets",
      async (engine, parent) => {
        await engine.system.sessions.changeRules(parent, DENY);
        await applied(engine, parent, "rules");
      },
      /the rule deny act \(agent\) says so: enough/u,
    ],
    [
      "a setting that its parent gets",
      async (engine, parent) => {
        await engine.system.sessions.patch(parent, { execSecurity: "deny" });
        await applied(engine, parent, "execSecurity");
      },
      /execSecurity is deny/u,
    ],
  ])("is bound by %s", async (_, between, why) => {
    const { results } = await acting(between);
    expect(results[0]).toBe("tool: act done");
    expect(results[1]).toMatch(why);
  });

  it("goes on if nothing changes", async () => {
    expect((await acting(async () => undefined)).results).toEqual(["tool: act done", "tool: act done"]);
  });

  it("keeps a rule that its parent had, also when the parent loses it", async () => {
    const { engine } = await acting(async () => undefined);
    const parent = await engine.agentId();
    await engine.system.sessions.changeRules(parent, DENY);
    await engine.tell("spawn again");
    await engine.system.sessions.changeRules(parent, { remove: "act" });
    await engine.settle();
    expect((await engine.store.agent(parent))?.state.rules).toBeUndefined();
    const child = (await childrenOf(engine)).at(-1);
    expect(child?.state.rules).toHaveLength(1);
  });
});

describe("a rule of an agent", () => {
  it("counts between two steps of a run of its own, and two in a row both count", async () => {
    const engine: TestEngine = await openFamily(
      {},
      {
        tools: {
          act: { rights: ["exec"] },
          other: { rights: ["exec"] },
          pause: {
            execute: async () => {
              const parent = await engine.agentId();
              await engine.system.sessions.changeRules(parent, DENY);
              await engine.system.sessions.changeRules(parent, { add: { deny: "other" } });
              return "paused";
            },
          },
        },
        system: { rights: {} },
        settings: SETTINGS,
      },
    );
    engine.script = ({ request }) => {
      const last = lastText(request);
      if (request.messages.at(-1)?.role !== "tool") return { call: [{ name: "pause" }] };
      return last === "paused" ? { call: [{ name: "act" }, { name: "other" }] } : "done";
    };
    await engine.tell("go");
    expect(engine.executions.map(({ name }) => name)).toEqual(["pause"]);
    expect((await engine.store.agent(await engine.agentId()))?.state.rules).toHaveLength(2);
  });

  it("moves the revision of rights; a label does not", async () => {
    const engine = await openFamily({}, { system: { rights: {} }, settings: SETTINGS });
    await engine.tell("hello");
    const parent = await engine.agentId();
    const before = await engine.store.rightsRevision();
    await engine.system.sessions.patch(parent, { label: "x" });
    await engine.settle();
    expect(await engine.store.rightsRevision()).toBe(before);
    await engine.system.sessions.changeRules(parent, DENY);
    await engine.settle();
    expect(await engine.store.rightsRevision()).toBe(before + 1);
  });
});
