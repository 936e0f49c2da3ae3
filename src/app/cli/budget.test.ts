import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { homePaths } from "../../config/paths.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Op } from "../../core/store/change.ts";
import { AT, cliHome, ids, TERMINAL } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

let agentId: AgentId;
const home = cliHome({
  async setup({ make, inStore, commit }) {
    ({ id: agentId } = await make(TERMINAL));
    await commit([
      { op: "node.join", name: "t", leaseUntil: 9e15 },
      { op: "agent.claim", agentId, node: 1 },
    ]);
    const call = { prompt: 100, maxTokens: 50, leastTokens: 10, read: 1, write: 2 };
    const rows = [{ key: `agent:${agentId}`, limit: { micros: 500_000 } }];
    const owner = { agentId, node: 1, epoch: 1 };
    const ops: readonly Op[] = [{ op: "budget.reserve", id: "r", runId: "run" as RunId, call, rows }];
    await inStore((store) => store.commit({ id: ids.change(), site: "test", at: AT, ops, owner }));
    await commit([{ op: "budget.settle", id: "r", actual: { tokens: 120, micros: 140 } }]);
  },
});
const { run } = home;

const configure = (text: string) => writeFileSync(homePaths(home.dir).config, text);

describe("rookery usage budgets", () => {
  it("lists the limits and what each budget has spent", async () => {
    configure("{ budgets: { agent: { dollars: 0.5 } } }");
    const { code, out } = await run("usage", "budgets");
    expect(code).toBe(EXIT.ok);
    expect(out).toContain("limit per agent: $0.5000");
    expect(out).toContain("agent:main  $0.0001 of $0.5000");
    expect(out).toContain("Since midnight: 0 tokens");
  });

  it("says that nothing is limited, and still lists earlier spending", async () => {
    const { out } = await run("usage", "budgets");
    expect(out).toContain("Nothing is limited");
    expect(out).toContain("120 tokens, $0.0001");
  });

  it("allows the same amount again, or the named amount", async () => {
    configure("{ budgets: { agent: { dollars: 0.5 } } }");
    expect((await run("usage", "lift", "agent:main")).out).toContain("of $1.0000, lifted by 0 tokens, $0.5000");
    const tokensOnly = await run("usage", "lift", `agent:${agentId}`, "--tokens", "5", "--json");
    expect(JSON.parse(tokensOnly.out)).toMatchObject({ lifted: { tokens: 5, micros: 500_000 } });
    const more = await run("usage", "lift", `agent:${agentId}`, "--dollars", "0.25", "--tokens", "10", "--json");
    expect(JSON.parse(more.out)).toMatchObject({
      lifted: { tokens: 15, micros: 750_000 },
      allowed: { micros: 1_250_000 },
    });
    const listed = JSON.parse((await run("usage", "budgets", "--json")).out);
    expect(listed).toMatchObject({
      limits: { agent: { micros: 500_000 } },
      items: [{ lifted: { micros: 750_000 } }],
    });
  });

  it.each([
    [["nonsense"], "is not the key of a budget"],
    [["agent:unknown"], 'There is no agent "unknown"'],
    [[`agent:${"a".repeat(24)}`], "Nothing was spent"],
    [["day:2026-01-01"], "does not limit day:2026-01-01"],
    [["agent:x", "--tokens", "1.5"], "--tokens takes a whole number above 0"],
    [["agent:x", "--dollars", "0"], "--dollars takes an amount above 0"],
    [["agent:x", "--dollars", ""], "--dollars takes an amount above 0"],
  ])("refuses %j with the reason", async (args, why) => {
    configure("{ budgets: { agent: { dollars: 0.5 } } }");
    const { code, err } = await run("usage", "lift", ...args);
    expect(code).not.toBe(EXIT.ok);
    expect(err).toContain(why);
  });
});
