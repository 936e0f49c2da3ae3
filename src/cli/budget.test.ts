import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seedAgent } from "../agents/seed-agent.ts";
import { homePaths } from "../config/paths.ts";
import type { AgentDescriptor } from "../core/descriptor.ts";
import { openSqliteStore } from "../store/sqlite/open-store.ts";
import { systemIds } from "../world/system-ids.ts";
import { EXIT } from "./exit-code.ts";
import { runCli } from "./router.ts";

const ids = systemIds();
let home: string;
let agentId: string;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-budget-"));
  const store = openSqliteStore({ home, synchronous: "normal" });
  const terminal: AgentDescriptor = { type: "user", connector: "terminal", userId: "owner", channelId: "owner" };
  const seed = seedAgent(ids, terminal, 1);
  agentId = seed.id;
  const commit = (ops: Parameters<typeof store.commit>[0]["ops"], owner?: object) =>
    store.commit({ id: ids.change(), site: "test", at: 1, ops, ...(owner ? { owner: owner as never } : {}) });
  await commit([
    { op: "node.join", name: "t", leaseUntil: 9e15 },
    { op: "agent.create", seed },
    { op: "agent.claim", agentId: seed.id, node: 1 },
  ]);
  const call = { prompt: 100, maxTokens: 50, leastTokens: 10, read: 1, write: 2 };
  const rows = [{ key: `agent:${agentId}`, limit: { micros: 500_000 } }];
  await commit([{ op: "budget.reserve", id: "r", runId: "run" as never, call, rows }], {
    agentId,
    node: 1,
    epoch: 1,
  });
  await commit([{ op: "budget.settle", id: "r", actual: { tokens: 120, micros: 140 } }]);
  await store.close();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function run(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const world = {
    env: {},
    stdin: () => ({ isTTY: true, async *[Symbol.asyncIterator]() {} }),
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  };
  const code = await runCli([...argv, "--home", home], world);
  return { code, out, err };
}

const configure = (text: string) => writeFileSync(homePaths(home).config, text);

describe("rookery budget", () => {
  it("lists what was spent of what, and the limits", async () => {
    configure("{ budgets: { agent: { dollars: 0.5 } } }");
    const { code, out } = await run("budget");
    expect(code).toBe(EXIT.ok);
    expect(out).toContain("limit per agent: $0.5000");
    expect(out).toContain(`agent:${agentId}  $0.0001 of $0.5000`);
    expect(out).toContain("Since midnight: 0 tokens");
  });

  it("says that nothing is limited, and lists what was counted before all the same", async () => {
    const { out } = await run("budget", "list");
    expect(out).toContain("Nothing is limited");
    expect(out).toContain("120 tokens, $0.0001");
  });

  it("allows as much again, or what is said", async () => {
    configure("{ budgets: { agent: { dollars: 0.5 } } }");
    expect((await run("budget", "lift", `agent:${agentId}`)).out).toContain("of $1.0000, lifted by 0 tokens, $0.5000");
    const more = await run("budget", "lift", `agent:${agentId}`, "--dollars", "0.25", "--tokens", "10", "--json");
    expect(JSON.parse(more.out)).toMatchObject({
      lifted: { tokens: 10, micros: 750_000 },
      allowed: { micros: 1_250_000 },
    });
    const listed = JSON.parse((await run("budget", "--json")).out);
    expect(listed).toMatchObject({
      limits: { agent: { micros: 500_000 } },
      budgets: [{ lifted: { micros: 750_000 } }],
    });
  });

  it.each([
    [["nonsense"], "is the key of no budget"],
    [["agent:nobody"], "Nothing was spent"],
    [["day:2026-01-01"], "budgets.day is not limited"],
    [["agent:x", "--tokens", "1.5"], "--tokens takes a whole number above 0"],
    [["agent:x", "--dollars", "0"], "--dollars takes an amount above 0"],
    [["agent:x", "--dollars", ""], "--dollars takes an amount above 0"],
  ])("refuses %j and says why", async (args, why) => {
    configure("{ budgets: { agent: { dollars: 0.5 } } }");
    const { code, err } = await run("budget", "lift", ...args);
    expect(code).not.toBe(EXIT.ok);
    expect(err).toContain(why);
  });
});
