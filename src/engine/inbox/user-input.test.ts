import fc from "fast-check";
import { expect, test } from "vitest";
import { isAbortText, parseDuration, parseQueueDirective, parseResetCommand, withoutMention } from "./user-input.ts";

test.each([
  ["/queue", { rest: "", reset: false, settings: {}, invalid: [] }],
  ["/queue collect", { settings: { mode: "collect" }, rest: "" }],
  [
    "/queue: steer+backlog debounce:2s cap:5 drop:old",
    { settings: { mode: "steer-backlog", debounceMs: 2000, cap: 5, dropPolicy: "old" } },
  ],
  ["/queue debounce=250 cap=3 drop=summary", { settings: { debounceMs: 250, cap: 3, dropPolicy: "summarize" } }],
  ["/QUEUE Interrupt", { settings: { mode: "interrupt" } }],
  ["/queue default", { reset: true, settings: {} }],
  ["/queue clear", { reset: true }],
  ["/queue steer do this now", { settings: { mode: "steer" }, rest: "do this now" }],
  ["please /queue queue hurry", { settings: { mode: "queue" }, rest: "please hurry" }],
  ["/queue cap:2.7", { settings: { cap: 2 }, invalid: [] }],
  ["/queue cap:0", { settings: {}, invalid: ["cap:0"] }],
  ["/queue debounce:soon", { settings: {}, invalid: ["debounce:soon"] }],
  ["/queue reset", { reset: true, settings: {} }],
  [" \n/queue steer", { leads: true, settings: { mode: "steer" } }],
  ["now /queue steer", { leads: false }],
  ["/queue cap:x", { settings: {}, invalid: ["cap:x"] }],
  ["/queue cap:1e2 cap:0x5 cap:", { settings: {}, invalid: ["cap:1e2", "cap:0x5", "cap:"] }],
  ["/queue drop:all steer", { settings: { mode: "steer" }, invalid: ["drop:all"] }],
])("%j is a queue directive", (text, expected) => {
  expect(parseQueueDirective(text)).toMatchObject(expected);
});

test.each(["hello", "/queues collect", "a/queue steer", "queue collect"])("%j contains no directive", (text) => {
  expect(parseQueueDirective(text)).toBeUndefined();
});

test.each([
  ["250", 250],
  ["2s", 2_000],
  ["1.5m", 90_000],
  [" 5 ", 5],
  ["3ms", 3],
  ["2d", 172_800_000],
  ["1h", 3_600_000],
  ["soon", undefined],
  ["-1s", undefined],
])("the duration %j is %j milliseconds", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test("parseQueueDirective never throws and keeps every word that is not part of the directive", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("/queue", "collect", "cap:5", "cap:x", "hello", ":", "drop:old"), { maxLength: 6 }),
      (words) => {
        const read = parseQueueDirective(words.join(" "));
        const said = words.filter((word) => word === "hello").length;
        expect((read?.rest ?? words.join(" ")).split(" ").filter((word) => word === "hello")).toHaveLength(said);
      },
    ),
  );
});

test.each(["stop", " Stop ", "ESC", "abort", "wait", "exit", "interrupt", "/stop"])("%j stops a run", (text) => {
  expect(isAbortText(text)).toBe(true);
});

test.each(["stop it", "please stop", "/stopp", "", "waiting"])("%j is a message like any other", (text) => {
  expect(isAbortText(text)).toBe(false);
});

const long = `/${"n".repeat(999)}`;
test.each([
  ["/new", undefined, "/new", undefined],
  ["  /reset  Hello There ", undefined, "/reset", "Hello There"],
  ["/fresh hi", [" /Fresh "], " /Fresh ", "hi"],
  [`${long} hi`, [long], long, "hi"],
])("%j with the triggers %j resets by %j and says %j", (text, triggers, trigger, rest) => {
  expect(parseResetCommand(text, triggers)).toEqual({ trigger, text: rest });
});

test.each([
  ["", [""]],
  [" ", [" "]],
  [`${long}n hi`, [`${long}n`]],
  ["say /new", ["/new"]],
])("%j with the triggers %j resets nothing", (text, triggers) => {
  expect(parseResetCommand(text, triggers)).toBeUndefined();
});

test("a name of the agent may have a thousand characters with its sign", () => {
  const name = "r".repeat(999);
  expect(withoutMention(`@${name} hi`, [name])).toBe("hi");
});
