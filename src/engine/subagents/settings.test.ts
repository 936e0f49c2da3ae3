/** The settings of children before anyone has configured them. */
import { expect, test } from "vitest";
import { DEFAULT_SUBAGENT_SETTINGS } from "./settings.ts";

test("by default a child has no children, a conversation has a hundred, and one at rest is archived after an hour", () => {
  expect(DEFAULT_SUBAGENT_SETTINGS).toMatchObject({ maxDepth: 1, maxChildren: 100, archiveAfterMinutes: 60 });
  expect(DEFAULT_SUBAGENT_SETTINGS.allowAgents("main")).toEqual([]);
  expect(DEFAULT_SUBAGENT_SETTINGS.profileNamed("work")).toBe("work");
});
