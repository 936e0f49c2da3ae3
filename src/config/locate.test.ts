import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, it } from "vitest";
import { tries } from "../../test/kit/share.ts";
import { tokenise } from "./json5-tokens.ts";
import { locateNearest, locatorFor, type Path } from "./locate.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Writes a document the way people do: any quotes, bare keys, comments, trailing commas, odd spaces. */
function writeJson5(value: Json, choose: () => number): string {
  const pick = <T>(...options: readonly T[]): T => options[choose() % options.length] as T;
  const blank = (): string =>
    pick("", "", " ", "\n", "\r\n", "\t", "\u2028", "/* { [ , */", '// it\'s "not" a : value\n', "\n  ", "/**/");
  const text = (content: string): string => {
    if (pick(true, false)) return JSON.stringify(content);
    const inner = JSON.stringify(content).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
    return `'${inner}'`;
  };
  const key = (name: string): string => {
    if (!/^[A-Za-z_$][\w$]*$/.test(name) || pick(true, false)) return text(name);
    return pick(name, `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}`);
  };
  const write = (item: Json): string => {
    if (Array.isArray(item)) {
      const items = item.map((child) => blank() + write(child) + blank());
      return `[${items.join(",")}${items.length > 0 ? pick("", ",") : ""}${blank()}]`;
    }
    if (typeof item === "object" && item !== null) {
      const members = Object.entries(item).map(
        ([name, child]) => `${blank()}${key(name)}${blank()}:${blank()}${write(child)}`,
      );
      return `{${members.join(",")}${members.length > 0 ? pick("", ",") : ""}${blank()}}`;
    }
    if (typeof item === "string") return text(item);
    if (typeof item === "number" && item >= 0 && !Object.is(item, -0)) return pick(String(item), `+${item}`);
    return JSON.stringify(item);
  };
  return blank() + write(value) + blank();
}

function* pathsOf(value: Json, path: Path = []): Generator<readonly [Path, Json]> {
  yield [path, value];
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* pathsOf(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) yield* pathsOf(item, [...path, key]);
}

const document = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);

describe("locatorFor", () => {
  it("finds the text of every value of any document, in any notation", () => {
    fc.assert(
      fc.property(document, fc.array(fc.nat(1_000), { minLength: 30, maxLength: 30 }), (value, choices) => {
        let turn = 0;
        const text = writeJson5(value, () => choices[turn++ % choices.length] ?? 0);
        expect(JSON5.parse(text)).toEqual(value);
        const locate = locatorFor(text);
        for (const [path, expected] of pathsOf(value)) {
          const found = locate(path);
          expect(JSON5.parse(text.slice(found?.value.start, found?.value.end))).toEqual(expected);
          const last = path.at(-1);
          if (typeof last === "string") {
            const written = text.slice(found?.key?.start, found?.key?.end);
            expect(Object.keys(JSON5.parse(`{${written}:1}`))).toEqual([last]);
          } else expect(found?.key).toBeUndefined();
        }
      }),
      { numRuns: tries(500) },
    );
  });

  it("never throws on text that is not JSON5, and finds nothing or a range inside the text", () => {
    const letters = fc.constantFrom(..."{}[]:,'\"\\/* \nabux1");
    fc.assert(
      fc.property(fc.string({ unit: letters, maxLength: 40 }), (text) => {
        const found = locateNearest(locatorFor(text), ["a", 0, "b"]);
        if (found) expect(found.value.end).toBeLessThanOrEqual(text.length);
        const tokens = tokenise(text);
        for (const [index, token] of tokens.entries()) {
          expect(token.end).toBeGreaterThan(token.start);
          expect(token.start).toBeGreaterThanOrEqual(tokens[index - 1]?.end ?? 0);
        }
      }),
      { numRuns: tries(1_000) },
    );
  });

  it("walks nesting of any depth without overflowing", () => {
    const text = `{a: ${"[".repeat(100_000)}${"]".repeat(100_000)}, b: 1}`;
    expect(locatorFor(text)(["b"])?.value.start).toBe(text.length - 2);
  });

  it("finds the last occurrence of a key, like the parser", () => {
    const text = "{ a: 1,\n a: 2 }";
    expect(locatorFor(text)(["a"])?.value).toMatchObject({ line: 2, column: 5 });
    expect(JSON5.parse(text)).toEqual({ a: 2 });
  });

  it("finds the nearest parent of a missing value", () => {
    const locate = locatorFor("{\n  a: {\n    b: [1, 2],\n  },\n}");
    expect(locate(["a", "c"])).toBeUndefined();
    expect(locateNearest(locate, ["a", "c"])?.value).toMatchObject({ line: 2, column: 6 });
    expect(locateNearest(locate, ["a", "b", 5])?.value).toMatchObject({ line: 3, column: 8 });
    expect(locateNearest(locate, ["x", "y"])?.value).toMatchObject({ line: 1, column: 1 });
  });
});
