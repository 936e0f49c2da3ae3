/** What is kept of a change of a file, and what is known of an installed skill. */
import { expect, test } from "vitest";
import { skillSourceSchema } from "./agent/skill-listing.ts";
import { fileChangeSchema } from "./file-change.ts";

const version = { sha256: "0a".repeat(32), bytes: 0 };
const change = {
  ...{ id: 1, at: 5, kind: "prompt", file: "AGENTS.md", by: { person: "owner", surface: "cli" } },
  ...{ before: null, after: version },
};

test.each<[string, object, boolean]>([
  ["as it is", {}, true],
  ["with a longer name", { id: 12, file: "notes/today.md" }, true],
  ["with the number 0", { id: 0 }, false],
  ["with half a number", { id: 1.5 }, false],
  ["at half a millisecond", { at: 0.5 }, false],
  ["without a file", { file: "" }, false],
  ["of another kind", { kind: "photo" }, false],
  ["of no person", { by: { person: "", surface: "cli" } }, false],
  ["from nowhere", { by: { person: "owner", surface: "" } }, false],
  ["of a file of ten bytes", { before: { ...version, bytes: 10 } }, true],
  ["of fewer bytes than none", { before: { ...version, bytes: -1 } }, false],
  ["of half a byte", { before: { ...version, bytes: 0.5 } }, false],
  ["of a short hash", { after: { ...version, sha256: "0a".repeat(31) } }, false],
  ["of a long hash", { after: { ...version, sha256: "0a".repeat(33) } }, false],
  ["of a hash in capitals", { after: { ...version, sha256: "0A".repeat(32) } }, false],
  ["of a file that is gone", { before: version, after: null }, true],
  ["that does not say what was there", { before: undefined }, false],
])("a change %s is accepted: %s", (_title, more, ok) => {
  expect(fileChangeSchema.safeParse({ ...change, ...more }).success).toBe(ok);
});

test.each<[string, object, boolean]>([
  ["a name", { at: "x" }, true],
  ["no name", { at: "" }, false],
  ["an address of 2,000", { at: "x".repeat(2_000) }, true],
  ["a longer address", { at: "x".repeat(2_001) }, false],
  ["a branch of one letter", { ref: "x" }, true],
  ["a branch of 200", { ref: "x".repeat(200) }, true],
  ["a longer branch", { ref: "x".repeat(201) }, false],
  ["a branch without a name", { ref: "" }, false],
  ["a commit", { commit: "0a".repeat(20) }, true],
  ["a short commit", { commit: "0a".repeat(19) }, false],
  ["one of several", { skill: "x".repeat(64) }, true],
  ["one of several with a long name", { skill: "x".repeat(65) }, false],
  ["another kind", { kind: "disk" }, false],
])("a skill comes from %s: %s", (_title, more, ok) => {
  expect(skillSourceSchema.safeParse({ kind: "git", at: "https://example.org/x", ...more }).success).toBe(ok);
});
