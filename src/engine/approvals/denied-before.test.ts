/** A model that obeys an attacker asks again and again after a no: its person is asked once about the same, and not forever. */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { lastText, type Reply } from "../../../test/kit/model.ts";
import { OWNER } from "../../core/people/person.ts";
import type { EffectDetail } from "../../core/rights/effect-detail.ts";
import { childrenOf, openFamily } from "../subagents/family.test-kit.ts";

type Line = readonly string[] | string;

const detailOf = (command: Line): EffectDetail =>
  typeof command === "string"
    ? { kind: "unparsed", line: command, cwd: "/", why: "it has a variable" }
    : { kind: "command", argv: command, cwd: "/" };

const ASKING: TestEngineOptions = {
  tools: {
    exec: {
      rights: ["exec"],
      replay: "never",
      effects: (input) => [
        { action: "exec", rights: ["exec"], detail: detailOf((input as { command: Line }).command) },
      ],
    },
  },
  system: { rights: {} },
  settings: { owner: { accounts: ["test:ann"] } },
};

async function askTheOwner({ store }: TestEngine): Promise<void> {
  const person = { id: "owner", role: "owner", accounts: [], grants: [{ ask: "exec" }], createdAt: 1, createdBy: "x" };
  await store.commit({
    ...{ id: "owner" as never, site: "test", at: 1 },
    ops: [{ op: "person.put", person: person as never }],
  });
}

/** Says no to every question until there is none. */
async function denyAll(engine: TestEngine): Promise<void> {
  for (let asked = 0; asked < 20; asked++) {
    const [open] = await engine.store.approvals({ limit: 1, states: ["pending"] });
    if (!open) break;
    await engine.system.approvals.decide(open.id, { approve: false }, { person: OWNER, surface: "test" });
    await engine.settle();
  }
}

const questionsOf = async ({ store }: TestEngine): Promise<number> => (await store.approvals({ limit: 50 })).length;

/** Tries every line in one run, and its person says no to every question. */
async function insisting(
  lines: readonly Line[],
): Promise<{ engine: TestEngine; questions: number; results: string[] }> {
  let next = 0;
  const engine = await TestEngine.open({
    script: () => {
      const line = lines[next++];
      return line === undefined ? "I give up" : { call: [{ name: "exec", with: { command: line } }] };
    },
    ...ASKING,
  });
  await askTheOwner(engine);
  await engine.tell("go");
  await denyAll(engine);
  const transcript = await engine.transcript(await engine.agentId());
  const results = transcript.filter((line) => line.startsWith("tool: "));
  return { engine, questions: await questionsOf(engine), results };
}

describe("after a no", () => {
  const push = ["git", "push", "origin", "main"];
  test.each<[string, Line]>([
    ["the same words", push],
    ["another case", ["GIT", "push", "origin", "main"]],
    ["the path of the program", ["/usr/bin/git", "push", "origin", "main"]],
    ["options in between", ["git", "-C", ".", "push", "origin", "main"]],
  ])("the same effect in %s is not asked about again in this run", async (_, again) => {
    const { engine, questions, results } = await insisting([push, again]);
    expect(questions).toBe(1);
    expect(results[1]).toMatch(/denied approval \w{4}, and is not asked about the same again/u);
    expect(engine.executions).toEqual([]);
    expect(engine.shown().at(-1)).toBe("I give up");
  });

  it("a line that no one can read is not asked about twice either", async () => {
    expect((await insisting(["eval  $x", "eval $x"])).questions).toBe(1);
  });

  it("asks about another effect until people have said no three times", async () => {
    const { engine, questions, results } = await insisting(["a", "b", "c", "d", "e"].map((name) => ["touch", name]));
    expect(questions).toBe(3);
    expect(results.slice(3).every((text) => text.includes("asks nothing more"))).toBe(true);
    expect(results).toHaveLength(5);
    expect(engine.executions).toEqual([]);
  });

  it("the next run may ask again", async () => {
    const { engine } = await insisting([push]);
    engine.script = ({ request }) =>
      request.messages.at(-1)?.role === "user" ? { call: [{ name: "exec", with: { command: push } }] } : "done";
    await engine.tell("do it now");
    expect(await engine.store.approvals({ limit: 9, states: ["pending"] })).toHaveLength(1);
  });
});

describe("in one family", () => {
  const push: Reply = { call: [{ name: "exec", with: { command: ["git", "push"] } }] };
  const reworded: Reply = { call: [{ name: "exec", with: { command: ["/usr/bin/git", "-C", ".", "push"] } }] };
  const others = ["a", "b", "c", "d"].map((name) => ({ call: [{ name: "exec", with: { command: ["touch", name] } }] }));
  const spawn = (task: string): Reply => ({ call: [{ name: "sessions_spawn", with: { task: `task ${task}` } }] });
  const REFUSED = /is not asked about the same again in this task/u;

  /** What the requester and each of its children say in turn; everything asked is denied. */
  async function telling(requester: readonly Reply[], child: readonly Reply[] = []): Promise<TestEngine> {
    const turns = new Map<string, number>();
    const said = (who: string, replies: readonly Reply[]): Reply => {
      const turn = turns.get(who) ?? 0;
      turns.set(who, turn + 1);
      return replies[turn] ?? "done";
    };
    const engine = await openFamily({}, ASKING);
    engine.script = ({ request }) => {
      const words = lastText(request);
      return words.startsWith("task child") ? said(words, child) : said("requester", requester);
    };
    await askTheOwner(engine);
    await engine.tell("go");
    await denyAll(engine);
    return engine;
  }

  const resultsOf = async (engine: TestEngine, who: "requester" | "child"): Promise<readonly string[]> => {
    const ids = who === "requester" ? [await engine.agentId()] : (await childrenOf(engine)).map(({ id }) => id);
    const lines = await Promise.all(ids.map((id) => engine.transcript(id)));
    return lines.flat().filter((line) => line.startsWith("tool: Not executed"));
  };

  it("a child does not ask what its parent was denied", async () => {
    const engine = await telling([push, spawn("child")], [reworded]);
    expect(await questionsOf(engine)).toBe(1);
    expect(await resultsOf(engine, "child")).toEqual([expect.stringMatching(REFUSED)]);
  });

  it("a parent does not ask what its child was denied, also in the run that the report wakes", async () => {
    const engine = await telling([spawn("child"), "started", reworded], [push]);
    expect(await questionsOf(engine)).toBe(1);
    expect(await resultsOf(engine, "requester")).toEqual([expect.stringMatching(REFUSED)]);
    expect(await engine.store.runs(await engine.agentId(), { limit: 9 })).toHaveLength(2);
  });

  it("a child does not ask what another child was denied", async () => {
    const engine = await telling([spawn("child one"), "started", spawn("child two")], [push]);
    expect(await questionsOf(engine)).toBe(1);
    expect(await childrenOf(engine)).toHaveLength(2);
    expect((await resultsOf(engine, "child")).filter((text) => REFUSED.test(text))).toHaveLength(1);
  });

  it("asks nothing more after three noes of all of them together", async () => {
    const engine = await telling([push, spawn("child")], others);
    expect(await questionsOf(engine)).toBe(3);
    expect((await resultsOf(engine, "child")).at(-1)).toContain("asks nothing more");
  });

  it("the words of its person begin a task in which they may be asked again", async () => {
    const engine = await telling([push, "done", push]);
    await engine.tell("do it now");
    expect(await engine.store.approvals({ limit: 9, states: ["pending"] })).toHaveLength(1);
  });
});
