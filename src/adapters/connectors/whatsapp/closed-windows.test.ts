import { expect, it } from "vitest";
import type { Store } from "../../../core/store/store.ts";
import { closedWindows } from "./closed-windows.ts";

it("a chat is closed for one number until its person writes, in all accounts of one process", () => {
  const store = {} as Store;
  const windows = closedWindows(store);
  windows.close("10", "49");
  const seen = () =>
    [
      ["10", "49"],
      ["11", "49"],
      ["10", "48"],
    ].map(([number = "", chat = ""]) => closedWindows(store).isClosed(number, chat));
  expect(seen()).toEqual([true, false, false]);
  expect(closedWindows({} as Store).isClosed("10", "49")).toBe(false);
  closedWindows(store).open("10", "48");
  expect(seen()).toEqual([true, false, false]);
  closedWindows(store).open("10", "49");
  expect(seen()).toEqual([false, false, false]);
});

it("of many chats the one that was closed first is forgotten", () => {
  const windows = closedWindows({} as Store);
  for (let n = 0; n < 20_001; n++) windows.close("10", String(n));
  expect(["0", "1", "20000"].map((chat) => windows.isClosed("10", chat))).toEqual([false, true, true]);
});
