import { expect, test } from "vitest";
import { fileReferenceSchema, isStored } from "./file-reference.ts";

const file = { id: "f", name: "n", mimeType: "t", size: 0 };

test.each<[string, object, boolean]>([
  ["whole", {}, true],
  ["without an id", { id: "" }, false],
  ["without a name", { name: "" }, false],
  ["without a type", { mimeType: "" }, false],
  ["with a size below zero", { size: -1 }, false],
  ["with half a byte", { size: 0.5 }, false],
  ["shown as an image", { as: "image" }, true],
  ["shown as a sound", { as: "sound" }, false],
  ["with no characters", { characters: 0 }, true],
  ["with fewer characters than none", { characters: -1 }, false],
  ["with half a character", { characters: 0.5 }, false],
  ["with a reason of a thousand characters", { why: "w".repeat(1_000) }, true],
  ["with a longer reason", { why: "w".repeat(1_001) }, false],
  ["with no reason to tell", { why: "" }, true],
  ["marked as untrusted", { untrusted: true }, true],
  ["marked as trusted", { untrusted: false }, false],
  ["with a path of an earlier version", { path: "p" }, true],
  ["with an empty path", { path: "" }, false],
])("a file that is %s", (_title, more, ok) => {
  expect(fileReferenceSchema.safeParse({ ...file, ...more }).success).toBe(ok);
});

test("a file is stored if it says what a model is shown of it", () => {
  expect([isStored({ as: "reference" }), isStored({})]).toEqual([true, false]);
});
