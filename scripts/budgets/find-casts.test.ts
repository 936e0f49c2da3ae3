import { describe, expect, it } from "vitest";
import { findCasts } from "./find-casts.ts";

const kinds = (file: string, source: string): readonly string[] =>
  findCasts(file, source).map(({ kind, line }) => `${line} ${kind}`);

describe("counted in tests", () => {
  it.each([
    ["const a = b as never;", "casts"],
    ["const a = b as\n  unknown as Store;", "casts"],
    ["const a = b as any;", "any"],
    ["// @ts-expect-error: wrong on purpose\nrun(1);", "expect-error"],
    ["function world() {}", "worlds"],
    ["async function world(given: Given) {}", "worlds"],
    ["const world = () => ({});", "worlds"],
    ["const world = async (a: number): Promise<World> => open(a);", "worlds"],
    ["const world: Deps = { now: () => 0 };", "worlds"],
  ])("is %j as %s", (source, kind) => {
    expect(kinds("src/a.test.ts", source)).toEqual([`1 ${kind}`]);
  });

  it.each([
    "const a = b as unknown;",
    'const a = "as never";',
    "// Not as never.",
    'const a = "@ts-expect-error";',
    "const world = await TestEngine.open();",
    "const worlds = () => [];",
  ])("is not %j", (source) => {
    expect(kinds("src/a.test.ts", source)).toEqual([]);
  });
});

describe("a file", () => {
  it.each(["src/a.test.ts", "web/src/a.test.tsx", "src/a.test-kit.ts", "test/e2e/a.ts", "scripts/a.test.ts"])(
    "is a test: %s",
    (file) => {
      expect(kinds(file, "const a = b as never;")).toEqual(["1 casts"]);
    },
  );

  it.each(["src/a.ts", "test/kit/a.ts", "test/contract/a.ts", "docs/a.md"])("is not a test: %s", (file) => {
    expect(kinds(file, "const a = b as never;")).toEqual([]);
  });
});
