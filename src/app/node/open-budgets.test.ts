import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startWire, type WireServer } from "../../adapters/models/wire.test-kit.ts";
import { loadConfig } from "../../config/load-config.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { dayIn, openBudgets, startOfDay } from "./open-budgets.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

const configOf = (text: string) => parseConfig({ text, file: "rookery.json5", env: {} }).config;

describe("what the configuration says about spending", () => {
  it("is nothing where nothing is limited", () => {
    expect(openBudgets(configOf("{}"), () => "UTC")).toBeUndefined();
    expect(openBudgets(configOf("{ budgets: { day: {} } }"), () => "UTC")).toBeUndefined();
    expect(openBudgets(configOf("{ budgets: { day: { tokens: 5 } } }"), () => "UTC")).toBeDefined();
  });

  it("gives one name to a person who is known by several, and to the owner", () => {
    const budgets = openBudgets(
      configOf(`{
        budgets: { person: { dollars: 1 } },
        session: { identityLinks: { ann: ["telegram:1", "whatsapp:2"] } },
        owner: { accounts: ["telegram:7"] },
      }`),
      () => "UTC",
    );
    const named = (connector: string, id: string) => budgets?.personNamed?.(connector, id);
    expect([named("telegram", "1"), named("whatsapp", "2")]).toEqual(["ann", "ann"]);
    expect([named("telegram", "7"), named("terminal", "anybody")]).toEqual(["owner", "owner"]);
    expect(named("telegram", "3")).toBe("telegram:3");
  });

  it.each([
    ["2026-03-29T00:30:00Z", "Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"],
    ["2026-03-29T22:30:00Z", "Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"],
    ["2026-01-01T03:00:00Z", "America/New_York", "2025-12-31", "2025-12-31T05:00:00Z"],
    ["2026-01-01T03:00:00Z", "UTC", "2026-01-01", "2026-01-01T00:00:00Z"],
  ])("begins a day at midnight where the installation is: %s in %s", (at, zone, day, start) => {
    expect(dayIn(Date.parse(at), zone)).toBe(day);
    expect(startOfDay(Date.parse(at), zone)).toBe(Date.parse(start));
  });
});

describe("a node with a budget", () => {
  let home: string;
  let server: WireServer;
  let node: RookeryNode | undefined;
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "rookery-budgets-"));
    // 20,000 read and 1,000 written, at 3 and 15 dollars for a million: 7.5 cents a turn.
    server = await startWire("openai-completions", () => ({ text: "fine", usage: { input: 20_000, output: 1_000 } }));
  });
  afterEach(async () => {
    await node?.close();
    node = undefined;
    await server.close();
    rmSync(home, { recursive: true });
  });

  it("holds to the price of its model, and to the limit that holds now", async () => {
    const config = (dollars: number) => ({
      budgets: { day: { dollars } },
      // Without tools the prompt is small, however many there are.
      profiles: { main: { tools: { deny: ["*"] } } },
      models: {
        default: "house/m",
        providers: {
          house: {
            api: "openai-completions",
            baseUrl: server.baseUrl,
            models: [{ id: "m", contextWindow: 200_000, maxTokens: 2_000, cost: { input: 3, output: 15 } }],
          },
        },
      },
    });
    const paths = homePaths(home);
    const load = async (dollars: number) => {
      writeFileSync(paths.config, JSON.stringify(config(dollars)));
      return (await loadConfig(paths, {})).config;
    };
    const opened = await openNode({ paths, config: await load(0.1), connectors: [], onFatal: () => {} });
    node = opened;
    const { store } = opened.ports;
    const descriptor = { type: "user", connector: "test", userId: "ann", channelId: "ann" } as const;
    const say = async (text: string) => {
      const { agentId, seq } = (await opened.agents.post({
        to: { descriptor },
        body: { kind: "user", text },
      })) as { agentId: Parameters<typeof store.message>[0]; seq: number };
      await opened.agents.settled();
      const message = await store.message(agentId, seq);
      return (await store.runs(agentId, { limit: 1 }))[0]?.body.error?.kind ?? message?.state;
    };
    expect(await say("one")).toBe("answered");
    expect(await say("two")).toBe("answered");
    expect(await say("three")).toBe("budget");
    const [row] = await store.budgets({ limit: 10 });
    expect(row).toMatchObject({ spent: { tokens: 42_000, micros: 150_000 }, estimated: { micros: 0 } });
    // The answer was limited to what the rest could pay for.
    expect(server.received.map(({ body }) => body.max_tokens)).toEqual([2_000, expect.any(Number)]);
    expect(server.received[1]?.body.max_tokens).toBeLessThan(2_000);
    opened.reload(await load(1), ["budgets.day.dollars"]);
    expect(await say("four")).toBe("answered");
  });
});
