import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startWire, type WireServer } from "../../adapters/models/wire.test-kit.ts";
import { loadConfig } from "../../config/load-config.ts";
import { homePaths } from "../../config/paths.ts";
import { openNode, type RookeryNode } from "./open-node.ts";

describe("a node with a budget", () => {
  let home: string;
  let server: WireServer;
  let node: RookeryNode | undefined;
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "rookery-budgets-"));
    // 20,000 input and 1,000 output tokens, at 3 and 15 dollars per million: 7.5 cents per turn.
    server = await startWire("openai-completions", () => ({ text: "fine", usage: { input: 20_000, output: 1_000 } }));
  });
  afterEach(async () => {
    await node?.close();
    node = undefined;
    await server.close();
    rmSync(home, { recursive: true });
  });

  it("applies the price of its model, and a limit that was reloaded", async () => {
    const config = (dollars: number) => ({
      budgets: { day: { dollars } },
      // Without tools the size of the prompt does not depend on how many exist.
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
    // The second answer was limited to what the rest of the budget pays for.
    expect(server.received.map(({ body }) => body.max_tokens)).toEqual([2_000, expect.any(Number)]);
    expect(server.received[1]?.body.max_tokens).toBeLessThan(2_000);
    opened.reload(await load(1), ["budgets.day.dollars"]);
    expect(await say("four")).toBe("answered");
  });
});
