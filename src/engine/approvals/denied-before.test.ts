/** A model that obeys an attacker asks again and again after a no: its person is asked once about the same, and not forever. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { OWNER } from "../../core/people/person.ts";
import type { EffectDetail } from "../../core/rights/effect-detail.ts";
import { MAX_DENIALS } from "./denied-before.ts";

type Line = readonly string[] | string;

const detailOf = (command: Line): EffectDetail =>
  typeof command === "string"
    ? { kind: "unparsed", line: command, cwd: "/", why: "it has a variable" }
    : { kind: "command", argv: command, cwd: "/" };

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
    tools: {
      exec: {
        rights: ["exec"],
        replay: "never",
        effects: (input) => [
          { action: "exec", rights: ["exec"], detail: detailOf((input as { command: Line }).command) },
        ],
      },
    },
    system: { rights: {}, approvals: {}, people: { isOwner: () => true } },
  });
  const { store } = engine;
  await store.commit({
    ...{ id: "owner" as never, site: "test", at: 1 },
    ops: [
      {
        op: "person.put",
        person: { id: "owner", role: "owner", accounts: [], grants: [{ ask: "exec" }], createdAt: 1, createdBy: "x" },
      },
    ],
  });
  await engine.tell("go");
  for (let asked = 0; asked < 20; asked++) {
    const [open] = await store.approvals({ limit: 1, states: ["pending"] });
    if (!open) break;
    await engine.system.approvals.decide(open.id, { approve: false }, { person: OWNER, surface: "test" });
    await engine.settle();
  }
  const transcript = await engine.transcript(await engine.agentId());
  const results = transcript.filter((line) => line.startsWith("tool: "));
  return { engine, questions: (await store.approvals({ limit: 50 })).length, results };
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

  it(`another effect is asked about, until people have said no ${MAX_DENIALS} times`, async () => {
    const { engine, questions, results } = await insisting(["a", "b", "c", "d", "e"].map((name) => ["touch", name]));
    expect(questions).toBe(MAX_DENIALS);
    expect(results.slice(MAX_DENIALS).every((text) => text.includes("asks nothing more"))).toBe(true);
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
