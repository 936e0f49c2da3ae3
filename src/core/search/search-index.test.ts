import { expect, test } from "vitest";
import { isTraceOf, notesSpace, personSpace, spacesPrefix } from "./search-index.ts";

test("the spaces of everyone, and of the users of one application", () => {
  expect(personSpace("ann").startsWith(spacesPrefix("all"))).toBe(true);
  expect(notesSpace("/a").startsWith(spacesPrefix("all"))).toBe(false);
  expect(spacesPrefix({ app: "shop" })).toBe("person:app:shop/");
});

test.each([
  ["person:ann", true],
  ["person:anna", false],
  ["person:ann/notes", false],
  ["notes:/home/ann/notes", true],
  ["notes:/home/joann/notes", false],
  ["notes:/home/ann/notes/more", false],
  ["other:/home/ann/notes", false],
])("the space %s is a trace of the person: %s", (space, is) => {
  const traces = { people: ["bob", "ann"], directories: ["x/notes", "ann/notes"], agents: [] };
  expect(isTraceOf(traces, space)).toBe(is);
});
