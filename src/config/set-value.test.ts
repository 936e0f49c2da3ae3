import fc from "fast-check";
import JSON5 from "json5";
import { describe, expect, it } from "vitest";
import { withValue } from "./set-value.ts";

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);

describe("withValue", () => {
  it.each([
    ["", ["gateway", "port"], "1", "{\n  gateway: { port: 1 },\n}\n"],
    ["{}", ["a"], "1", "{\n  a: 1,\n}"],
    ["{ a: 1 } // end", ["a"], "2", "{ a: 2 } // end"],
    ["{\n  // why\n  a: { b: [1, { c: 2 }], d: 3 },\n}", ["a", "b"], "[]", "{\n  // why\n  a: { b: [], d: 3 },\n}"],
    ["{ 'a': { x: 1 } }", ["a", "y z"], "2", "{ 'a': {\n    \"y z\": 2, x: 1 } }"],
  ] as const)("in %j sets %j to %s", (text, path, value, expected) => {
    expect(withValue(text, path, value)).toBe(expected);
  });

  it("refuses a path through a value that is not an object", () => {
    expect(() => withValue("{ a: 1 }", ["a", "b"], "2")).toThrow("a is not an object");
    expect(() => withValue("[]", ["a"], "2")).toThrow("not an object");
  });

  it("changes this value and no other, in any configuration", () => {
    const key = fc.stringMatching(/^[a-z]{1,4}$/);
    const leaf = fc.oneof(fc.integer(), fc.string(), fc.array(fc.integer(), { maxLength: 3 }));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.dictionary(key, fc.oneof({ depthSize: "small" }, leaf, tie("tree")), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(tree, fc.array(key, { minLength: 1, maxLength: 3 }), fc.integer(), (before, path, value) => {
        const text = JSON5.stringify(before, null, 2);
        let changed: string;
        try {
          changed = withValue(text, path, String(value));
        } catch {
          const isThroughValue = path.slice(0, -1).some((_, index) => {
            const inner = at(before, path.slice(0, index + 1));
            return inner !== undefined && (typeof inner !== "object" || Array.isArray(inner));
          });
          expect(isThroughValue).toBe(true);
          return;
        }
        const after = JSON5.parse(changed) as Record<string, unknown>;
        expect(at(after, path)).toBe(value);
        const expected = structuredClone(before) as Record<string, unknown>;
        let inner = expected;
        for (const name of path.slice(0, -1)) {
          inner[name] ??= {};
          inner = inner[name] as Record<string, unknown>;
        }
        inner[path.at(-1) ?? ""] = value;
        expect(after).toEqual(expected);
      }),
    );
  });
});
