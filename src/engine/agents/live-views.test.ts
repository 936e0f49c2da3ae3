/** What people see while an answer is written, and what they do not. No engine: events in, calls of a view out. */
import { describe, expect, test } from "vitest";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { RunEvent, RunListener } from "../runtime/run-events.ts";
import { LiveViews, type LiveViewsDeps } from "./live-views.ts";

const agentId = "a" as AgentId;
const runId = "r" as RunId;

function world(body: object = {}, more: Partial<LiveViewsDeps> = {}) {
  const seen: string[] = [];
  const opened: unknown[] = [];
  let listener: RunListener | undefined;
  let listens = 0;
  const view = {
    text: (text: string) => void seen.push(`text ${text}`),
    status: (text: string) => void seen.push(`status ${text}`),
    close: () => void seen.push("close"),
  };
  const connector = {
    view: (...args: unknown[]) => {
      opened.push(args);
      return view;
    },
  } as unknown as Connector;
  const connectors = new Map<string, Connector>([["test", connector]]);
  const delivery = { channel: "test", to: "ann" };
  const run = { id: runId, body: { delivery, replyToId: "7", ...body } };
  const views = new LiveViews({
    events: {
      listenToOwn(given: RunListener) {
        listens++;
        listener = given;
        return () => {
          listener = undefined;
        };
      },
    } as never,
    connectors,
    live: (id) => (id === agentId ? (run as never) : undefined),
    ...more,
  });
  views.refresh();
  const on = (event: object, id: RunId = runId) => listener?.({ agentId, runId: id, ...event } as RunEvent);
  return {
    views,
    on,
    seen,
    opened,
    connectors,
    run,
    isListening: () => listener !== undefined,
    listens: () => listens,
  };
}
const delta = (text: string, stream = "text") => ({ type: "delta", stream, text });

describe("a run is shown", () => {
  test("from its start to its end, with its text so far", () => {
    const { on, seen, opened } = world();
    for (const event of [{ type: "start" }, delta("Hel"), delta("lo"), { type: "end" }, delta("late", "thinking")])
      on(event);
    expect(seen).toEqual(["text Hel", "text Hello", "close"]);
    expect(opened[0]).toEqual([
      { channel: "test", to: "ann" },
      { runId, agentId, replyToId: "7" },
    ]);
  });

  test("with its tools, and each message of the model from its beginning", () => {
    const { on, seen } = world();
    for (const event of [
      { type: "start" },
      delta("one"),
      { type: "tool_start", name: "read" },
      { type: "tool_update", text: "half" },
      { type: "step" },
      delta("two"),
      delta("x", "thinking"),
      { type: "approval" },
      delta("three"),
    ])
      on(event);
    expect(seen).toEqual(["text one", "status ⚙️ read", "status ⚙️ half", "text two", "close", "text three"]);
  });

  test("from the beginning again after a restart, in the same view", () => {
    const { on, seen, opened } = world();
    for (const event of [{ type: "start" }, delta("one"), { type: "restart" }, delta("two")]) on(event);
    expect(seen).toEqual(["text one", "text two"]);
    expect(opened).toHaveLength(1);
  });

  test("as the node says what of a text is shown", () => {
    const { on, seen } = world({}, { shownOf: (text) => text.toUpperCase() });
    on(delta("hi"));
    expect(seen).toEqual(["text HI"]);
  });

  test("up to a length that no channel shows", () => {
    const { on, seen } = world();
    on(delta("x".repeat(100_000)));
    on(delta("y"));
    on(delta("z"));
    expect(seen.map((one) => one.length - "text ".length)).toEqual([100_000, 100_001]);
  });
});

describe("a run is not shown", () => {
  test.each<[string, object]>([
    ["that no person waits for", { trigger: { type: "cron", id: "j" } }],
    ["that writes notes", { memoryFlush: true }],
    ["whose answer goes nowhere", { delivery: undefined }],
    ["on a channel that shows nothing", { delivery: { channel: "other", to: "ann" } }],
    ["without a channel", { delivery: { to: "ann" } }],
  ])("%s", (_title, body) => {
    const { on, seen } = world(body);
    for (const event of [
      { type: "start" },
      delta("x"),
      { type: "tool_start", name: "t" },
      { type: "step" },
      { type: "end" },
    ])
      on(event);
    expect(seen).toEqual([]);
  });

  test("that is no longer the agent's", () => {
    const { on, seen } = world();
    on({ type: "start" }, "other" as RunId);
    on(delta("x"), "other" as RunId);
    expect(seen).toEqual([]);
  });
});

describe("listening", () => {
  test("happens once, and only while a connector can show something", () => {
    const { views, on, seen, connectors, isListening, listens } = world();
    views.refresh();
    expect([isListening(), listens()]).toEqual([true, 1]);
    on({ type: "start" });
    connectors.set("test", {} as Connector);
    views.refresh();
    expect(isListening()).toBe(false);
    expect(seen).toEqual(["close"]);
    views.stop();
    expect(seen).toEqual(["close"]);
    connectors.set("other", { view: () => undefined } as unknown as Connector);
    views.refresh();
    expect([isListening(), listens()]).toEqual([true, 2]);
  });
});
