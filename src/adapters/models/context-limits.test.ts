import { describe, expect, it } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import { contextLimitsOf } from "./context-limits.ts";

const agent = { profile: "main", state: {} } as AgentRecord;
const windows: Readonly<Record<string, number>> = { "acme/small": 8_000, "acme/large": 1_000_000, "found/one": 32_000 };

function limitsOf(text: string, chosen: string) {
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  let asked = 0;
  let detected = { model: "found/one", why: "a server answers" };
  const limits = contextLimitsOf({
    choose: (_agent, wishes) => ({ model: wishes?.model ?? chosen }),
    detect: async () => detected,
    providers: {
      model: async (name) => {
        asked += 1;
        const contextWindow = windows[name];
        return contextWindow === undefined ? undefined : { contextWindow };
      },
    },
  });
  const of = (one: AgentRecord, wishes?: RunOverrides) => limits(one, wishes, undefined, config);
  return { limits: of, asked: () => asked, detectAgain: () => (detected = { ...detected }) };
}

describe("contextLimitsOf", () => {
  it("returns the settings with the context window of the model", async () => {
    const { limits } = limitsOf(
      "{ compaction: { keepRecentTokens: 500, memoryFlush: { enabled: false } } }",
      "acme/small",
    );
    expect(await limits(agent)).toMatchObject({
      contextWindow: 8_000,
      keepRecentTokens: 500,
      reserveTokens: 16_384,
      emergencyContextLimit: 200_000,
      memoryFlush: { enabled: false, softThresholdTokens: 4_000 },
    });
  });

  it("resolves once per model, and again after each detection", async () => {
    const { limits, asked } = limitsOf("{}", "acme/small");
    await limits(agent);
    await limits(agent);
    expect(asked()).toBe(1);
    const found = limitsOf("{}", "auto");
    expect((await found.limits(agent)).contextWindow).toBe(32_000);
    await found.limits(agent);
    expect(found.asked()).toBe(1);
    found.detectAgain();
    await found.limits(agent);
    expect(found.asked()).toBe(2);
  });

  it("uses the default size for an unknown model", async () => {
    expect((await limitsOf("{}", "offline").limits(agent)).contextWindow).toBe(200_000);
  });

  it("the configuration rejects a value that is not a number of tokens", () => {
    expect(() => parseConfig({ text: "{ compaction: { keepRecentTokens: 0 } }", file: "x", env: {} })).toThrow(
      /compaction\.keepRecentTokens: expected a whole number/,
    );
  });
});
