import { describe, expect, test } from "vitest";
import type { Effect } from "../../core/rights/decide.ts";
import { chatCommands } from "./chat-commands.ts";
import { ANN, type Changes, contextOf, run, said } from "./command-context.test-kit.ts";
import { runChatCommand } from "./run-chat-command.ts";
import { anything, isResetWord, nothing, oneWord } from "./words.ts";

test("commands that change settings wait their turn, and no others do", () => {
  const waiting = chatCommands.filter(({ inTurn }) => inTurn).map(({ name }) => name);
  expect(waiting.toSorted()).toEqual([
    "activation",
    "elevated",
    "model",
    "queue",
    "reasoning",
    "send",
    "think",
    "usage",
    "verbose",
  ]);
});

describe("/help", () => {
  test("lists every command, or shows one by any of its names", async () => {
    expect((await said("help", "")).split("\n")).toHaveLength(chatCommands.length);
    expect(await said("help", "/YES")).toBe(
      "/approve [ID] [always [call|pattern]] – say yes to a call that waits; alone it lists them\nAlso: /yes, /allow\nExample: /approve kfmz\nYou may use it in your own conversations.",
    );
    expect(await said("commands", "status")).toBe(
      "/status – the model, the context, today's cost, and what waits and why\nYou may use it in your own conversations.",
    );
    expect((await said("help", "deny")).split("\n")[1]).toBe("Also: /no");
    expect(await said("help", "x".repeat(65))).toBe(`There is no /${"x".repeat(64)}. /help lists the commands.`);
  });
});

describe("who may use a command", () => {
  const asks = async (name: string, text: string, changes: Changes = {}): Promise<unknown[][]> => {
    const asked: Effect[] = [];
    await runChatCommand({ name, text }, contextOf(changes, asked));
    return asked.map(({ action, target, of }) => [action, target, of]);
  };
  test.each<[string, string, unknown[][]]>([
    ["help", "x", []],
    ["status", "", [["chat_read", undefined, undefined]]],
    ["think", "", [["chat_read", undefined, undefined]]],
    ["think", "high", [["chat_think", "agent:a1", ANN]]],
    ["model", "", [["chat_read", undefined, undefined]]],
    ["model", "a/b", [["chat_model", "agent:a1", ANN]]],
    ["approve", "kfmz", [["chat_read", undefined, undefined]]],
    ["send", "off", [["chat_send", "agent:a1", ANN]]],
  ])("/%s %s", async (name, text, asked) => {
    expect(await asks(name, text)).toEqual(asked);
  });
  test("names no person for a conversation without one, and asks nothing for /help", async () => {
    expect(await asks("think", "high", { agent: { person: undefined } })).toEqual([
      ["chat_think", undefined, undefined],
    ]);
    expect(await said("help", "status", { denied: "why" })).toMatch(/^\/status/);
  });
  test("a command that may not be used does nothing", async () => {
    expect(await run("think", "high", { denied: "why" })).toEqual({ text: "⚙️ You may not use /think here: why." });
  });
});

describe("words", () => {
  test("that are nearly a command get the closest one", async () => {
    expect(await said("unknown", "/stats")).toBe("There is no /stats. Did you mean /status? /help lists the commands.");
    expect(await said("unknown", "/zzzzzzzz")).toBe("There is no /zzzzzzzz. /help lists the commands.");
    expect(await said("stop", "")).toContain("There is no /stop.");
    expect(await said("nope-at-all", "")).toContain("There is no /nope-at-all.");
    expect(await said("unknown", "z".repeat(65))).toContain(`There is no /${"z".repeat(64)}.`);
  });
  test.each([
    ["", true, true],
    ["one", true, false],
    ["one two", false, false],
  ])("%j is at most one word: %s, nothing: %s", (rest, one, none) => {
    expect([oneWord(rest), nothing(rest), anything()]).toEqual([one, none, true]);
  });
  test("take a setting back", () => {
    for (const word of ["default", "Reset", "INHERIT", "clear"]) expect(isResetWord(word)).toBe(true);
    for (const word of ["off", "", "default ".repeat(3)]) expect(isResetWord(word)).toBe(false);
  });
});
