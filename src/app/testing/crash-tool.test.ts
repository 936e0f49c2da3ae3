import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ConnectorHost } from "../../core/ports/connector.ts";
import { defineConnector } from "../library/define-connector.ts";
import { defineTool } from "../library/define-tool.ts";
import { checkConnector } from "./check-connector.ts";
import { crashTool } from "./crash-tool.ts";

const counted = (replay: "safe" | "never") => {
  const tool = defineTool({
    name: "pay",
    description: "Pays",
    input: z.object({ amount: z.number() }),
    replay,
    execute: ({ amount }) => `paid ${amount}`,
  });
  return crashTool(tool, { amount: 5 });
};

describe("crashTool", () => {
  it("shows that a tool that must not be repeated is not, and that every crash ends in one answer", async () => {
    const crashes = await counted("never");
    expect(crashes.length).toBeGreaterThanOrEqual(6);
    for (const { executions, answers, at, moment } of crashes) {
      expect(executions, `${moment} ${at}`).toBeLessThanOrEqual(1);
      expect(answers, `${moment} ${at}`).toEqual(["done"]);
    }
    const unknown = crashes.filter(({ result }) => result.includes("Outcome unknown"));
    expect(unknown.length).toBeGreaterThan(0);
  });

  it("shows that a tool that may be repeated is called again with the same id", async () => {
    const crashes = await counted("safe");
    const repeated = crashes.filter(({ executions }) => executions > 1);
    expect(repeated.length).toBeGreaterThan(0);
    for (const { callIds, result, answers } of crashes) {
      expect(new Set(callIds).size).toBe(1);
      expect(result).toContain("paid 5");
      expect(answers).toEqual(["done"]);
    }
  });
});

describe("checkConnector", () => {
  const delivery = { id: "d1" as never, target: { channel: "pager", to: "bob" }, payload: { text: "hi" } };
  let host: ConnectorHost;
  const message = {
    connector: "pager",
    userId: "bob",
    channelId: "bob",
    text: "hi",
    delivery: { channel: "pager", to: "bob" },
  };
  const start = async (given: ConnectorHost): Promise<void> => {
    host = given;
  };

  it("finds nothing in a connector that keeps the contract", async () => {
    const connector = () => defineConnector({ name: "pager", start, send: async () => undefined });
    const bring = async () => void (await host.accept({ ...message, messageId: "1" }));
    expect(await checkConnector({ connector, bring, delivery })).toEqual([]);
  });

  it("finds a message that changes its id, and a send that throws", async () => {
    let n = 0;
    const good = defineConnector({ name: "pager", start, send: async () => undefined });
    const send = () => Promise.reject(new TypeError("down"));
    const bring = async () => void (await host.accept({ ...message, messageId: String(++n) }));
    const problems = await checkConnector({ connector: () => ({ ...good, send }), bring, delivery });
    expect(problems).toEqual([
      expect.stringContaining("messageId"),
      expect.stringContaining("`send` throws;"),
      expect.stringContaining("aborted"),
    ]);
  });
});
