/** What a chat shows while a run works: drafts and typing, as often as the server allows, and nothing after the end. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import type { BotApi } from "./bot-api.ts";
import { draftIdOf, openView } from "./draft-view.ts";

function world(more: Partial<Parameters<typeof openView>[0]> = {}, code?: number) {
  const clock = virtualClock();
  const calls: { readonly method: string; readonly text: unknown; readonly at: number }[] = [];
  const shown: string[] = [];
  let gate: Promise<void> | undefined;
  const api = {
    async call(method: string, { text }: { text?: string }) {
      calls.push({ method, text, at: clock.monotonic() });
      await gate;
      return code !== undefined && method === "sendMessageDraft" ? { status: "refused", code } : { status: "ok" };
    },
  } as unknown as BotApi;
  const status = {
    show: (text: string) => void shown.push(text),
    close: () => void shown.push("closed"),
    quiet: async () => {},
  };
  let closed = 0;
  const view = openView({ api, clock, chatId: "5", draftId: 77, status, mayCall: () => true, ...more }, () => {
    closed += 1;
  });
  const pass = (ms: number) => clock.advance(ms, () => new Promise((resolve) => setImmediate(resolve)));
  const hold = (until: Promise<void>): void => {
    gate = until;
  };
  return { view, calls, shown, pass, hold, clock, closed: () => closed, times: () => calls.map(({ at }) => at) };
}

describe("a draft", () => {
  it("shows the status until there is a text, at most once a second", async () => {
    const { view, calls, pass } = world();
    view.status("reads a file");
    await pass(1_000);
    view.text("so");
    view.text("so far");
    view.status("writes");
    await pass(1_000);
    expect(calls.map(({ text, at }) => [text, at])).toEqual([
      ["", 0],
      ["reads a file", 1_000],
      ["so far", 2_000],
    ]);
  });

  it("is shown again after twenty seconds, because it vanishes by itself", async () => {
    const { times, pass } = world();
    await pass(41_000);
    expect(times()).toEqual([0, 20_000, 40_000]);
  });

  test.each([
    ["x".repeat(4_000), "x".repeat(4_000)],
    ["x".repeat(4_001), `…${"x".repeat(4_000)}`],
    [`a😀${"x".repeat(3_999)}`, `…${"x".repeat(3_999)}`],
  ])("of a long text shows its end", async (text, expected) => {
    const { view, calls, pass } = world();
    view.text(text);
    await pass(1_000);
    expect(calls.at(-1)?.text).toBe(expected);
  });

  test.each([
    [400, "sendChatAction"],
    [429, "sendMessageDraft"],
  ])("that is refused with %i: then %s", async (code, method) => {
    const { view, calls, pass } = world({}, code);
    await pass(1_000);
    view.text("x");
    await pass(5_000);
    expect(calls.at(-1)?.method).toBe(method);
  });

  it("is not shown while the server is busy with the one before it", async () => {
    const { view, calls, pass, hold } = world();
    const gate = Promise.withResolvers<void>();
    await pass(0);
    hold(gate.promise);
    view.text("one");
    await pass(1_000);
    view.text("two");
    await pass(5_000);
    expect(calls.map(({ text }) => text)).toEqual(["", "one"]);
    gate.resolve();
    await pass(1_000);
    expect(calls.map(({ text }) => text)).toEqual(["", "one", "two"]);
  });

  it("is not shown if there is no room for it, and tried again", async () => {
    let may = false;
    const { calls, pass } = world({ mayCall: () => may });
    await pass(2_000);
    expect(calls).toEqual([]);
    may = true;
    await pass(1_000);
    expect(calls).toHaveLength(1);
  });
});

describe("typing", () => {
  it("is shown every four seconds where there is no draft", async () => {
    const { calls, times, pass } = world({ draftId: undefined });
    await pass(8_500);
    expect(times()).toEqual([0, 4_000, 8_000]);
    expect(new Set(calls.map(({ method }) => method))).toEqual(new Set(["sendChatAction"]));
  });
});

describe("a view", () => {
  it("is quiet while a message is sent, waits for the call under way, and goes on with the next text", async () => {
    const { view, calls, pass, hold } = world();
    const gate = Promise.withResolvers<void>();
    await pass(0);
    hold(gate.promise);
    view.text("one");
    await pass(1_000);
    let isQuiet = false;
    const quiet = view.quiet().then(() => {
      isQuiet = true;
    });
    await pass(30_000);
    expect([isQuiet, calls.length]).toEqual([false, 2]);
    gate.resolve();
    await quiet;
    await pass(30_000);
    expect(calls).toHaveLength(2);
    view.text("two");
    await pass(1_000);
    expect(calls.at(-1)?.text).toBe("two");
  });

  it("that is closed shows nothing more, and leaves no timer", async () => {
    const { view, calls, pass, shown, clock, closed } = world();
    view.status("x".repeat(300));
    view.text("so");
    view.close();
    await pass(60_000);
    expect([calls.length, clock.timers, closed(), shown]).toEqual([1, 0, 1, ["x".repeat(200), "✍️", "closed"]]);
    await view.quiet();
    view.text("late");
    expect([calls.length, clock.timers]).toEqual([1, 0]);
  });

  it("has a number that every process makes of its run", () => {
    expect(draftIdOf("run-1")).toBe(draftIdOf("run-1"));
    expect(draftIdOf("run-1")).not.toBe(draftIdOf("run-2"));
    for (let n = 0; n < 100; n++) expect(draftIdOf(`run-${n}`)).toBeGreaterThan(0);
  });
});
