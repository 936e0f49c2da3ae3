import { describe, expect, test } from "vitest";
import { isStored } from "../file-reference.ts";
import { fileBlock, fileOf } from "../history/file-block.ts";
import type { PersonId } from "../people/person.ts";
import { blobsOf } from "./blobs-of.ts";
import { longTextShown } from "./long-text.ts";
import { referenceTo, type ShownFile, type StoredFile, storedFileSchema } from "./stored-file.ts";

const stored = (shown: ShownFile, more: Partial<StoredFile> = {}): StoredFile => ({
  ...{ id: "f", sha: "a".repeat(64), name: "a.pdf", mimeType: "application/pdf", size: 3, blob: "b1" },
  ...{ behalf: { person: "ann" as PersonId }, createdAt: 1, shown },
  ...more,
});
const asText: ShownFile = { as: "text", blob: "b2", characters: 12 };

test.each<[string, ShownFile, string[]]>([
  ["a text made of it", asText, ["b1", "b2"]],
  ["itself as a text", { ...asText, blob: "b1" }, ["b1"]],
  ["a smaller image", { as: "image", blob: "b3", mimeType: "image/png" }, ["b1", "b3"]],
  ["nothing", { as: "reference" }, ["b1"]],
])("of a file that is shown as %s the bytes are %s", (_title, shown, blobs) => {
  expect(blobsOf(stored(shown))).toEqual(blobs);
});

describe("a reference to a file", () => {
  const named = { id: "f", name: "a.pdf", mimeType: "application/pdf", size: 3 };
  test.each<[string, StoredFile, object]>([
    ["says how long its text is", stored(asText), { ...named, as: "text", characters: 12 }],
    [
      "says why it is not shown",
      stored({ as: "reference", why: "too big" }),
      { ...named, as: "reference", why: "too big" },
    ],
    ["of an image says neither", stored({ as: "image", blob: "b", mimeType: "i" }), { ...named, as: "image" }],
    [
      "keeps that others wrote it",
      stored(asText, { behalf: { person: "ann" as PersonId, untrusted: true } }),
      { ...named, as: "text", characters: 12, untrusted: true },
    ],
    [
      "keeps that it came through others",
      stored(asText, { behalf: { person: "ann" as PersonId, through: ["bob" as PersonId] } }),
      { ...named, as: "text", characters: 12, untrusted: true },
    ],
  ])("%s", (_title, file, reference) => {
    expect(referenceTo(file)).toEqual(reference);
    expect(isStored(referenceTo(file))).toBe(true);
  });
});

test.each<[string, object, boolean]>([
  ["a file without bytes", { size: 0 }, true],
  ["less than none", { size: -1 }, false],
  ["a hash of 63 digits", { sha: "a".repeat(63) }, false],
  ["a hash of 65 digits", { sha: "a".repeat(65) }, false],
  ["no name", { name: "" }, false],
  ["no id", { id: "" }, false],
  ["no type", { mimeType: "" }, false],
  ["no bytes by name", { blob: "" }, false],
  ["names of one letter", { name: "n", id: "i", mimeType: "m", blob: "b" }, true],
  ["a text of no characters", { shown: { ...asText, characters: 0 } }, true],
  ["a text of fewer", { shown: { ...asText, characters: -1 } }, false],
  ["no pages", { shown: { ...asText, pages: 0 } }, false],
  ["one page", { shown: { ...asText, pages: 1 } }, true],
  ["a text without its bytes", { shown: { ...asText, blob: "" } }, false],
  ["an image without its bytes", { shown: { as: "image", blob: "", mimeType: "i" } }, false],
  ["an image without its type", { shown: { as: "image", blob: "b", mimeType: "" } }, false],
  ["an image", { shown: { as: "image", blob: "b", mimeType: "i" } }, true],
  ["a reference to no pages", { shown: { as: "reference", pages: 0 } }, false],
])("%s", (_title, more, ok) => {
  expect(storedFileSchema.safeParse({ ...stored(asText), ...more }).success).toBe(ok);
});

const reference = { id: "f", name: "a", mimeType: "m", size: 0 };
describe("a block that stands for a file", () => {
  test("says which, and what of it is shown", () => {
    expect(fileOf(fileBlock("[a]", { ...reference, as: "text", characters: 5 }))).toEqual({
      ...{ id: "f", as: "text", characters: 5 },
    });
    expect(fileOf(fileBlock("[a]", reference))).toEqual({ id: "f", as: "reference" });
    expect(fileBlock("[a]", reference)).toEqual({ type: "text", text: "[a]", file: { id: "f", as: "reference" } });
  });

  test.each<[string, Parameters<typeof fileOf>[0]]>([
    ["a text", { type: "text", text: "a" }],
    ["thoughts", { type: "thinking", thinking: "a", file: { id: "f", as: "text" } }],
    ["a block of another program", { type: "text", text: "a", file: { id: "", as: "text" } }],
    ["a block with a wrong length", { type: "text", text: "a", file: { id: "f", as: "text", characters: -1 } }],
  ])("is not %s", (_title, block) => {
    expect(fileOf(block)).toBeUndefined();
  });

  test("may have a name of one letter and an empty text", () => {
    expect(fileOf({ type: "text", text: "a", file: { id: "f", as: "text", characters: 0 } })).toBeDefined();
  });
});

test("a long message shows its beginning and says where the rest is", () => {
  const shown = longTextShown("x".repeat(5_000));
  expect(shown).toContain("[The message has 5000 characters. All of it is in message.txt.]");
  expect(/x+/.exec(shown)?.[0].length).toBeLessThanOrEqual(1_000);
  expect(/x+/.exec(shown)?.[0].length).toBeGreaterThan(900);
});
