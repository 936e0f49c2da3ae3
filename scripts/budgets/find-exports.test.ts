import { expect, it } from "vitest";
import { findExports } from "./find-exports.ts";

const SOURCE = "export const a = 1;\nexport interface B {}\nexport function c() {}\n";
const hits = (others: Readonly<Record<string, string>>) =>
  findExports(new Map(Object.entries({ "src/core/x.ts": SOURCE, ...others })))
    .get("src/core/x.ts")
    ?.map(({ line, text }) => `${line} ${text}`);

it("finds exports that nothing or only tests import", () => {
  expect(hits({})).toEqual(["1 a: nothing imports it", "2 B: nothing imports it", "3 c: nothing imports it"]);
  expect(hits({ "src/core/x.test.ts": 'import { a } from "./x.ts";' })).toContain("1 a: only tests import it");
  expect(hits({ "src/core/y.ts": '// import { a } from "./x.ts";' })).toContain("1 a: nothing imports it");
});

it("counts functions over text as read by the tests of malformed input", () => {
  const found = findExports(new Map([["src/core/x.ts", "export const lineOf = (text: string): number => 1;"]]));
  expect(found.get("src/core/x.ts")).toEqual([]);
});

it.each([
  ['import { a, type B } from "./x.ts";', ["3 c: nothing imports it"]],
  ['const { a: b, c } = await import("./x.ts");', ["2 B: nothing imports it"]],
  ['import("./x.ts").then(({ a }) => a);', ["2 B: nothing imports it", "3 c: nothing imports it"]],
  ['run((await import("./x.ts")).c);', ["1 a: nothing imports it", "2 B: nothing imports it"]],
  ['import * as x from "./x.ts";', []],
])("counts what %s takes", (source, left) => {
  expect(hits({ "src/core/y.ts": source })).toEqual(left);
});
