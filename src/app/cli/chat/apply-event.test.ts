import { describe, expect, it } from "vitest";
import { applyEvent, withDelivery } from "./apply-event.ts";
import type { RawEntry } from "./blocks.ts";
import { type ChatState, EMPTY_CHAT } from "./chat-state.ts";
import { clean } from "./clean-text.ts";
import { piecesOf } from "./split-markdown.ts";

const RUN = "run-1";
const apply = (state: ChatState, ...events: readonly [string, object?][]): ChatState =>
  events.reduce(
    (before, [type, data = {}]) => applyEvent(before, { type, data: { runId: RUN, ...data } }, 1_000),
    state,
  );

const entry = (position: number, more: RawEntry): [string, object] => [
  "entry",
  {
    position,
    entry: {
      type: "message",
      id: `e${position}`,
      parentId: position === 1 ? null : `e${position - 1}`,
      runId: RUN,
      ...more,
    },
  },
];
const said = (text: string): RawEntry => ({ role: "assistant", content: [{ type: "text", text }] });
const asked = (text: string, seq: number): RawEntry => ({
  role: "user",
  content: [{ type: "text", text }],
  seqs: [seq],
});

const texts = ({ blocks, live }: ChatState): readonly string[] => [
  ...blocks.map((block) => {
    if (block.kind === "answer" || block.kind === "notice") return block.pieces.map(({ text }) => text).join("\n");
    return block.kind === "tool" ? `${block.name} ${block.state}` : "text" in block ? block.text : "";
  }),
  ...(live ? piecesOf(live.text).map(({ text }) => `live: ${text}`) : []),
];

describe("an answer", () => {
  const started = apply(
    EMPTY_CHAT,
    ["start"],
    entry(1, asked("hi", 1)),
    ["delta", { text: "Hel" }],
    ["delta", { text: "lo" }],
  );

  it("is shown while it is written, and once when it is committed", () => {
    expect(texts(started)).toEqual(["hi", "live: Hello"]);
    expect(texts(apply(started, entry(2, said("Hello"))))).toEqual(["hi", "Hello"]);
  });

  it("is not shown twice if its deltas come behind its entry", () => {
    const committed = apply(started, entry(2, said("Hello")), ["delta", { text: "Hello" }]);
    expect(texts(committed)).toEqual(["hi", "Hello"]);
    expect(texts(apply(committed, ["step"], ["delta", { text: "More" }]))).toEqual(["hi", "Hello", "live: More"]);
  });

  it("starts again after a crash: what was written is void", () => {
    expect(texts(apply(started, ["restart"], ["delta", { text: "Good day" }]))).toEqual(["hi", "live: Good day"]);
  });

  it("is not shown twice if an entry comes again", () => {
    const twice = apply(started, entry(2, said("Hello")), entry(1, asked("hi", 1)), entry(2, said("Hello")));
    expect(texts(twice)).toEqual(["hi", "Hello"]);
  });

  it("keeps the pieces that were rendered", () => {
    const long = apply(EMPTY_CHAT, ["delta", { text: "one\n\ntwo\n\nthree" }]);
    const before = long.live?.text.done[0];
    const block = apply(long, entry(1, said("one\n\ntwo\n\nthree"))).blocks[0];
    expect(block?.kind === "answer" && block.pieces[0]).toBe(before);
  });

  it("that failed says why, and a stopped one that it was stopped", () => {
    const failed = apply(started, ["end", { result: { outcome: "error", error: { message: "no key" } } }]);
    expect(texts(failed)).toEqual(["hi", "no key"]);
    expect(texts(apply(started, ["end", { result: { outcome: "aborted" } }]))).toEqual(["hi", "stopped"]);
  });
});

describe("the log", () => {
  it("shows a tool call with its outcome and time", () => {
    const call: RawEntry = {
      role: "assistant",
      content: [{ type: "toolCall", id: "c", name: "read", arguments: {} }],
      timestamp: 900,
    };
    const result: RawEntry = {
      role: "tool",
      toolCallId: "c",
      content: [{ type: "text", text: "x" }],
      isError: true,
      timestamp: 950,
    };
    const running = apply(EMPTY_CHAT, entry(1, call));
    expect(texts(running)).toEqual(["read running"]);
    const done = apply(running, ["tool_start", { callId: "c" }], entry(2, result));
    expect(texts(done)).toEqual(["read failed"]);
  });

  it("shows messages that waited together as they were typed, and reports as such", () => {
    const text =
      '[Queued messages while agent was busy]\n\n---\nQueued #1\none\n\n---\nQueued #2\n<system_message origin="x">A task ended.\n\nStats</system_message>';
    const { blocks } = apply(EMPTY_CHAT, entry(1, asked(text, 1)));
    expect(blocks).toMatchObject([
      { kind: "user", text: "one" },
      { kind: "event", title: "A task ended.", text: "Stats" },
    ]);
  });

  it("says that it must be read again when an entry is on another branch", () => {
    const two = apply(EMPTY_CHAT, entry(1, asked("a", 1)), entry(2, said("b")));
    expect(two.isStale).toBe(false);
    expect(
      apply(two, [
        "entry",
        { position: 3, entry: { type: "message", role: "user", id: "x", parentId: "e1", content: [] } },
      ]).isStale,
    ).toBe(true);
  });

  it("does not repeat an answer that comes to the mailbox too", () => {
    const answered = apply(EMPTY_CHAT, entry(1, said("Tea is **ready**.\n\n```\nx\n```")));
    expect(
      withDelivery(answered, { id: "d", runId: RUN, text: "Tea is **ready**.\n\n```\nx\n```" }).blocks,
    ).toHaveLength(1);
    expect(withDelivery(answered, { id: "d", runId: "other", text: "Tea" }).blocks).toHaveLength(2);
  });

  it("shows no escape code of anyone", () => {
    const evil = "a\u001b[2Jb";
    const state = apply(
      EMPTY_CHAT,
      entry(1, asked(evil, 1)),
      entry(2, {
        role: "assistant",
        content: [
          { type: "toolCall", id: "c", name: evil, arguments: { evil } },
          { type: "text", text: evil },
        ],
      }),
      entry(3, { role: "tool", toolCallId: "c", content: [{ type: "text", text: evil }] }),
      ["delta", { text: evil }],
      ["end", { result: { outcome: "error", error: { message: evil } } }],
    );
    const all = JSON.stringify(withDelivery(state, { id: "d", text: evil, runId: "r2" }, evil));
    expect(all).not.toContain("u001b");
    expect(clean(evil)).toBe("ab");
  });
});
