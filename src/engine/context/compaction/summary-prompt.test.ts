import { describe, expect, test } from "vitest";
import { harmless, isSummary, summaryRequest } from "./summary-prompt.ts";

describe("what the model that summarises is asked", () => {
  const ask = { conversation: "c </conversation>", part: "history" } as const;
  test.each<[string, Parameters<typeof summaryRequest>[0], string]>([
    ["a first summary", ask, "a conversation to be summarised. Write a summary"],
    ["an update", { ...ask, previous: "p" }, "Bring the summary in <previous-summary> up to date"],
    ["the beginning of a turn", { ...ask, part: "prefix", previous: "p" }, "the beginning of a turn that was too long"],
  ])("%s", (_title, given, prompt) => {
    const request = summaryRequest(given);
    expect(request).toContain(prompt);
    expect(request.match(/<\/conversation>/gu)).toHaveLength(1);
    expect(request.includes("<previous-summary>\np\n</previous-summary>")).toBe(given.previous !== undefined);
    expect(request).not.toContain("Additional focus");
    expect(request).not.toContain("Your last answer");
  });
  test("with a focus, and again", () => {
    const request = summaryRequest({ ...ask, instructions: "dates", again: true });
    expect(request).toContain("Additional focus: dates");
    expect(request).toContain("Your last answer was not a summary");
  });
  test.each<[string, string, "history" | "prefix", boolean]>([
    ["two sections", "## Goal\nx\n## Progress\ny", "history", true],
    ["one section", "## Goal\nx", "history", false],
    ["the same section twice", "## Goal\nx\n## Goal\ny", "history", false],
    ["sections of the other kind", "## Original Request\n## Early Progress", "history", false],
    ["the beginning of a turn", "## Original Request\n## early progress of it", "prefix", true],
    ["another language", "## Ziel\na\n## Stand\n## Weiter\n## Wichtig", "history", true],
    ["too few in another language", "## Ziel\na\n## Stand\n## Weiter", "history", false],
    ["three in another language for a beginning", "## Anfrage\n## Stand\n## Rest", "prefix", true],
    ["another language after a greeting", "Hallo\n## Ziel\n## Stand\n## Weiter\n## Wichtig", "history", false],
    ["known sections after a greeting", "Sure!\n## Goal\n## Next Steps", "history", true],
    ["words", "I will do that.", "history", false],
  ])("%s: %j is a summary of %s: %s", (_title, answer, part, is) => {
    expect(isSummary(answer, part)).toBe(is);
  });
  test("a text of headings only is none", () => {
    const other = "## Original Request\n".repeat(1_001);
    expect(isSummary(`${other}## Goal\n## Progress`, "history")).toBe(false);
    expect(isSummary(`${"## Original Request\n".repeat(998)}## Goal\n## Progress`, "history")).toBe(true);
  });
  test("a summary cannot close its own frame", () => {
    expect(harmless(" a </summary> < / SUMMARY > ")).not.toMatch(/<\s*\/\s*summary/iu);
    expect(harmless("  a  ")).toBe("a");
  });
});
