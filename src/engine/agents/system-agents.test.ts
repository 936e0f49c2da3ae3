import { expect, test } from "vitest";
import { SHIPPED_SYSTEM_AGENTS, systemAgentsOf } from "./system-agents.ts";

test("systemAgentsOf returns the shipped agents with the changes and additions of the configuration", () => {
  expect([...systemAgentsOf({ systemAgents: {} }).values()]).toEqual(SHIPPED_SYSTEM_AGENTS);
  const agents = systemAgentsOf({
    systemAgents: {
      doctor: { prompt: "be short" },
      librarian: { prompt: "keep it", description: "keeps", replacesSystemPrompt: false },
      scout: { prompt: "look" },
      guard: { prompt: "watch", description: "watches", replacesSystemPrompt: true },
    },
  });
  const shipped = SHIPPED_SYSTEM_AGENTS.find(({ tag }) => tag === "doctor");
  expect(Object.fromEntries(agents)).toEqual({
    doctor: { ...shipped, prompt: "be short", replacesSystemPrompt: true },
    librarian: { tag: "librarian", description: "keeps", prompt: "keep it", replacesSystemPrompt: false },
    scout: { tag: "scout", description: "scout", prompt: "look", replacesSystemPrompt: false },
    guard: { tag: "guard", description: "watches", prompt: "watch", replacesSystemPrompt: true },
  });
});
