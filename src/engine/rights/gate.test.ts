/** The gate in front of a run's calls: who may do what, by the rights of the moment at which a call starts (L13, M30). */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import type { ToolPolicy } from "../../core/rights/kind-rules.ts";
import type { Op } from "../../core/store/change.ts";

const OWNER = "olga";
let changes = 0;
const commit = (engine: TestEngine, ...ops: Op[]) =>
  engine.store.commit({ id: `test-${++changes}` as ChangeId, site: "test", at: 1, ops });
const put = (engine: TestEngine, grants: readonly Grant[] = []) =>
  commit(engine, {
    op: "person.put",
    person: { id: "ann", role: "guest", accounts: ["test:ann"], grants, createdAt: 1, createdBy: "owner" },
  });
const remove = (engine: TestEngine) => commit(engine, { op: "person.remove", id: "ann" });

interface World {
  readonly calls: readonly string[];
  readonly tools?: TestEngineOptions["tools"];
  readonly grants?: readonly Grant[];
  readonly policy?: ToolPolicy;
}

/** Ann has a record. The model makes these calls once and then says what came of them. */
async function open({ calls, tools, grants, policy }: World): Promise<TestEngine> {
  const engine = await TestEngine.open({
    script: ({ request }) =>
      request.messages.at(-1)?.role === "tool" ? "done" : { call: calls.map((name) => ({ name })) },
    tools: {
      look: { rights: ["read"] },
      write: { rights: ["write"], replay: "never" },
      exec: { rights: ["exec"], replay: "never" },
      heartbeat_run: { rights: ["schedule"] },
      ...tools,
    },
    system: { rights: {} },
    settings: {
      profiles: { main: { tools: policy } },
      owner: { accounts: [`test:${OWNER}`] },
      people: { unknown: "stranger" },
    },
  });
  await put(engine, grants);
  return engine;
}

const executed = (engine: TestEngine): string[] => engine.executions.map(({ name }) => name);
const results = async (engine: TestEngine, name = "ann"): Promise<string[]> =>
  (await engine.transcript(await engine.agentId(name))).filter((line) => line.startsWith("tool: "));
const audit = async (engine: TestEngine): Promise<string[]> =>
  (await engine.store.audit({ limit: 100 }))
    .toReversed()
    .map(({ action, decision, outcome = "-" }) => `${action} ${decision} ${outcome}`);

describe("the calls of one answer", () => {
  it("are judged one by one: a denied one has its result at once, with what to ask for, and the others run", async () => {
    const engine = await open({ calls: ["look", "exec", "write", "heartbeat_run", "nothing"] });
    await engine.tell("go");
    expect(executed(engine)).toEqual(["look", "write"]);
    expect(await results(engine)).toEqual([
      'tool: Denied: exec: commands on this machine need a grant. Ask the owner for the grant exec (rookery people grant ann "exec").',
      'tool: Denied: heartbeat_run: the heartbeat belongs to the owner. Ask the owner for the grant heartbeat_run (rookery people grant ann "heartbeat_run").',
      "tool: look done",
      "tool: write done",
      "tool: Unknown tool: nothing",
    ]);
    expect(await audit(engine)).toEqual(["exec deny -", "heartbeat_run deny -", "write allow ok"]);
    expect((await engine.states(await engine.agentId())).at(-1)).toBe("answered");
  });

  it("of the owner are allowed, and cost no commit more than without a gate", async () => {
    const engine = await open({ calls: ["exec", "write"] });
    await engine.tell("go", { name: OWNER });
    expect(executed(engine)).toEqual(["exec", "write"]);
    expect(await audit(engine)).toEqual(["exec allow ok", "write allow ok"]);
    const sites = engine.commits.map(({ site }) => site);
    expect(sites.filter((site) => ["think", "result", "rest"].includes(site))).toEqual([
      "think",
      "result",
      "result",
      "rest",
    ]);
  });

  it("of someone with no record are denied", async () => {
    const engine = await open({ calls: ["look"] });
    await engine.tell("go", { name: "eve" });
    expect(executed(engine)).toEqual([]);
    expect((await results(engine, "eve"))[0]).toContain("test:eve is not known here");
  });

  test.each<[string, readonly Grant[], ToolPolicy | undefined, string[], string | undefined]>([
    ["a grant allows", [{ allow: "exec" }], undefined, ["exec"], undefined],
    ["a grant denies", [{ deny: "look" }], undefined, [], "a grant of ann denies it"],
    ["a profile limits every person", [{ allow: "exec" }], { deny: ["exec"] }, [], "the profile denies it"],
  ])("%s", async (_, grants, policy, ran, reason) => {
    const engine = await open({
      calls: ran.length > 0 ? ran : [reason?.includes("ann") ? "look" : "exec"],
      grants,
      policy,
    });
    await engine.tell("go");
    expect(executed(engine)).toEqual(ran);
    if (reason) expect((await results(engine)).join()).toContain(reason);
  });

  it("have a digest and no arguments in the audit log", async () => {
    const engine = await open({ calls: ["write"] });
    await engine.tell("go");
    const [row] = await engine.store.audit({ limit: 1 });
    expect(row).toMatchObject({
      surface: "test",
      runId: expect.any(String),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});

describe("a right that is taken away", () => {
  it("between two calls stops the second", async () => {
    const engine: TestEngine = await open({
      calls: ["revoke", "write"],
      tools: {
        revoke: {
          execute: async () => {
            await remove(engine);
            return "gone";
          },
        },
      },
    });
    await engine.tell("go");
    expect(executed(engine)).toEqual(["revoke"]);
    expect((await results(engine)).at(-1)).toContain("is not known here");
  });

  it("between the judgement and its commit refuses that commit, and the calls are judged again", async () => {
    const engine = await open({ calls: ["exec"], grants: [{ allow: "exec" }] });
    const { store } = engine;
    const real = store.commit;
    let refused = 0;
    Object.assign(store, {
      commit: async (change: Parameters<typeof real>[0]) => {
        if (change.site === "think" && refused === 0) {
          refused += 1;
          await put(engine, []);
        }
        return real(change);
      },
    });
    await engine.tell("go");
    expect(refused).toBe(1);
    expect(executed(engine)).toEqual([]);
    expect(await audit(engine)).toEqual(["exec deny -"]);
    expect(engine.requests).toHaveLength(2);
  });

  it("while the process is down stops what had been intended, and what was asked", async () => {
    const engine = await open({
      calls: ["once", "write"],
      grants: [{ allow: "*" }],
      tools: { once: { rights: ["network"] } },
    });
    engine.onCommit = dieAt("think", "after");
    await engine.tell("go");
    await remove(engine);
    await engine.restart();
    expect(executed(engine)).toEqual([]);
    expect(await results(engine)).toHaveLength(2);
    expect(await audit(engine)).toEqual(["once deny -", "write deny -"]);
  });

  it("does not hide that a call may have happened before", async () => {
    const engine = await open({ calls: ["write"] });
    engine.onCommit = dieAt("result", "before");
    await engine.tell("go");
    await remove(engine);
    await engine.restart();
    expect(executed(engine)).toEqual(["write"]);
    expect(await results(engine)).toEqual(["tool: Outcome unknown: the process stopped before it was recorded."]);
    expect(await audit(engine)).toEqual(["write allow unknown"]);
  });
});
