import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { personDirectory } from "./person-directory.ts";

describe("the directory of a person", () => {
  it.each([
    ["ann", /^ann$/],
    ["ann-2", /^ann-2$/],
    ["ann.", /^ann-~[0-9a-f]{40}$/],
    ["..", /^-~/],
    ["", /^~/],
    ["nul", /^nul~/],
    ["telegram:42", /^telegram-42~/],
    ["telegram:../../etc", /^telegram-etc~/],
    ["app:shop/ann", /^app-shop-ann~/],
    ["telegram:\0", /^telegram-~/],
  ])("%j", (person, name) => expect(personDirectory(person)).toMatch(name));

  it("tells apart names that look or sound alike", () => {
    const people = [
      "api:Ann",
      "api:ann",
      "api:ANN",
      "api:a\u0301",
      "api:\u00e1",
      "api:\u017f",
      "api:s",
      "api-ann",
      "api_ann",
    ];
    const halves = ["api:\ud800", "api:\ud801", "api:\ufffd"];
    const long = ["api:", "x:"].map((prefix) => `${prefix}${"x".repeat(600)}`);
    const names = [...people, ...halves, ...long].map((person) =>
      personDirectory(person).toLowerCase().normalize("NFKC"),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it("is one safe name, and different for different people", () => {
    const person = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.string({ unit: fc.constantFrom("a", "A", ".", "/", "~", "-", ":"), maxLength: 5 }),
      fc.string({ unit: "binary", maxLength: 9 }).map(personDirectory),
    );
    fc.assert(
      fc.property(person, person, (a, b) => {
        const [first, second] = [personDirectory(a), personDirectory(b)];
        return /^[a-z0-9~-]{1,100}$/.test(first) && (first === second) === (a === b);
      }),
    );
  });
});
