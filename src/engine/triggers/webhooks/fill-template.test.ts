import { expect, test } from "vitest";
import { fillTemplate } from "./fill-template.ts";

test.each([
  ["{{body.a}} {{body.b.c}}", { a: 1, b: { c: "x" }, body: { a: 2 } }, "1 x"],
  ["{{body.body.a}}", { body: { a: 2 } }, "2"],
  ["{{mybody.a}}", { mybody: { a: 3 } }, "3"],
  ["{{body}}", { a: [1] }, '{\n  "a": [\n    1\n  ]\n}'],
  ["{{a}}", { a: false }, "false"],
  ["{{a}}", { a: 0 }, "0"],
  ["{{a.b}}", { a: "text" }, ""],
  ["{{a.length}}", { a: "text" }, ""],
  ["{{a.b}}", { a: null }, ""],
  ["{{[0]}} {{[1].n}}", ["x", { n: 2 }], "x 2"],
  ["{{a..b}}", { a: { b: 4 } }, "4"],
  ["{{a}}", "text", ""],
  ["{{a}}", undefined, ""],
  ["{a} {{}} {{ }} {{{a}}}", { a: 5 }, '{a} {\n  "a": 5\n} {\n  "a": 5\n} {5}'],
])("%j with %j", (template, body, expected) => {
  expect(fillTemplate(template, { body, name: "hook" })).toBe(expected);
});

test("a place has at most 500 characters", () => {
  const place = (count: number) => `{{a${" ".repeat(count - 1)}}}`;
  expect(fillTemplate(place(500), { body: { a: 1 }, name: "n" })).toBe("1");
  expect(fillTemplate(place(501), { body: { a: 1 }, name: "n" })).toBe(place(501));
});
