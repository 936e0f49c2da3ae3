import { expect, it, test } from "vitest";
import { bounded } from "./bounded.ts";
import { groupWindow } from "./group-window.ts";

const heard = (text: string) => ({ userId: "5", userName: "Ann", text, typed: true });
const textsOf = (window: ReturnType<typeof groupWindow>, chat = "a") => window.take(chat).map(({ text }) => text);

test.each([
  [0, []],
  [1, ["three"]],
  [2, ["two", "three"]],
  [3, ["one", "two", "three"]],
  [9, ["one", "two", "three"]],
])("a window of %i keeps the last ones", (size, expected) => {
  const window = groupWindow(size);
  for (const text of ["one", "two", "three"]) window.hear("a", heard(text));
  expect(textsOf(window)).toEqual(expected);
  expect(textsOf(window)).toEqual([]);
});

it("what is heard is of its chat, has words, and is cut", () => {
  const window = groupWindow(5);
  window.hear("a", heard(" \n"));
  window.hear("a", heard("x".repeat(501)));
  window.hear("b", heard("other"));
  expect(textsOf(window)).toEqual(["x".repeat(500)]);
  expect(textsOf(window, "b")).toEqual(["other"]);
});

it("of many chats the one that was silent longest is forgotten", () => {
  const window = groupWindow(5);
  for (let n = 0; n < 500; n++) window.hear(String(n), heard("x"));
  window.hear("0", heard("again"));
  window.hear("500", heard("x"));
  expect(["0", "1", "2", "500"].map((chat) => textsOf(window, chat).length)).toEqual([2, 0, 1, 1]);
});

it("a bounded map forgets what was set first, and what is set again is new", () => {
  const map = bounded<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  expect(map.entries()).toEqual([
    ["b", 2],
    ["a", 3],
  ]);
  map.set("c", 4);
  expect(["a", "b", "c"].map(map.get)).toEqual([3, undefined, 4]);
  map.delete("a");
  expect(map.entries()).toEqual([["c", 4]]);
});
