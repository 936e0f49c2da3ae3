import { expect, test } from "vitest";
import { systemAgentsOf } from "./system-agents.ts";

test("systemAgentsOf returns the shipped agents with the changes and additions of the configuration", () => {
  const shipped = systemAgentsOf({ systemAgents: {} });
  expect([...shipped.keys()]).toEqual(["librarian", "doctor"]);
  const agents = systemAgentsOf({
    systemAgents: {
      doctor: { prompt: "be short" },
      librarian: { prompt: "keep it", description: "keeps", replacesSystemPrompt: false },
      scout: { prompt: "look" },
      guard: { prompt: "watch", description: "watches", replacesSystemPrompt: true },
    },
  });
  expect(Object.fromEntries(agents)).toEqual({
    doctor: { ...shipped.get("doctor"), prompt: "be short", replacesSystemPrompt: true },
    librarian: { tag: "librarian", description: "keeps", prompt: "keep it", replacesSystemPrompt: false },
    scout: { tag: "scout", description: "scout", prompt: "look", replacesSystemPrompt: false },
    guard: { tag: "guard", description: "watches", prompt: "watch", replacesSystemPrompt: true },
  });
});
