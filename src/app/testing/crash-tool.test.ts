import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ConnectorHost } from "../../core/ports/connector.ts";
import { defineConnector } from "../library/define-connector.ts";
import { defineTool } from "../library/define-tool.ts";
import { checkConnector } from "./check-connector.ts";
import { crashTool } from "./crash-tool.ts";
import { TestEngine } from "./engine.ts";
import type { Script } from "./model.ts";

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

  it("repeats a tool that may be repeated with the same effect key, which no other crash has", async () => {
    const crashes = await counted("safe");
    const repeated = crashes.filter(({ executions }) => executions > 1);
    expect(repeated.length).toBeGreaterThan(0);
    for (const { effectKeys, result, answers } of crashes) {
      expect(new Set(effectKeys).size).toBe(1);
      expect(result).toContain("paid 5");
      expect(answers).toEqual(["done"]);
    }
    expect(new Set(crashes.flatMap(({ effectKeys }) => effectKeys)).size).toBe(crashes.length);
  });
});

describe("context.effectKey", () => {
  it("differs between calls, people and stores although the model uses one call id, and stays over a crash", async () => {
    const keys: string[] = [];
    const pay = {
      execute: (_: object, { effectKey }: { effectKey: string }) => {
        keys.push(effectKey);
        return "paid";
      },
    };
    const script: Script = ({ request }) =>
      request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ id: "c1", name: "pay" }] };
    const [first, second] = [
      await TestEngine.open({ tools: { pay }, script, seed: "one" }),
      await TestEngine.open({ tools: { pay }, script, seed: "two" }),
    ];
    for (const engine of [first, second]) {
      for (const name of ["ann", "bob"]) {
        await engine.say("pay", { name });
        await engine.settle();
      }
    }
    await first.say("pay again", { name: "ann" });
    await first.settle();
    expect(keys).toHaveLength(5);
    expect(new Set(keys).size).toBe(5);
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

    first.onCommit = ({ site }) => (site === "result" ? "die-before" : "go");
    await first.say("pay once more", { name: "ann" });
    await first.settle();
    await first.restart();
    await first.advance(300_000);
    expect(keys.slice(5)).toHaveLength(2);
    expect(new Set(keys.slice(5)).size).toBe(1);
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
