import { describe, expect, it } from "vitest";
import { applyEvent } from "./apply-event.ts";
import type { Block, RawEntry } from "./blocks.ts";
import { type ChatState, EMPTY_CHAT, type Settled } from "./chat-state.ts";
import type { CleanText } from "./clean-text.ts";
import { patchPending, withoutArrived, withPending, withSettled } from "./pending.ts";

const RUN = "run-1";
const TEXT = "what time is it?";
const WHY = "no key";

type Change = (state: ChatState) => ChatState;
/** Changes that come one after the other. Two such lists come in any order to each other. */
type Changes = readonly (readonly [name: string, change: Change])[];

const event =
  (type: string, data: object = {}): Change =>
  (state) =>
    applyEvent(state, { type, data: { runId: RUN, ...data } }, 1_000);

const raw = (position: number, more: RawEntry): object => ({
  position,
  entry: { type: "message", id: `e${position}`, parentId: `e${position - 1}`, runId: RUN, ...more },
});
const asked = raw(1, { role: "user", content: [{ type: "text", text: TEXT }], seqs: [7] });
const said = raw(2, { role: "assistant", content: [{ type: "text", text: "Noon." }] });

const textOf = (block: Block): string =>
  "pieces" in block ? block.pieces.map(({ text }) => text).join("\n") : "text" in block ? block.text : "";
const countIn = ({ blocks }: ChatState, text: string): number => blocks.filter((one) => textOf(one) === text).length;
/** How often the message is on the screen. */
const shown = (state: ChatState): number =>
  countIn(state, TEXT) + state.pending.filter(({ text }) => text === TEXT).length;

const typed = withPending(EMPTY_CHAT, { key: "k", text: TEXT as CleanText, state: "sending" });

const accept: Changes[number] = ["accepted", (state) => patchPending(state, "k", { state: "accepted", seq: 7 })];
const settle = (settled: Partial<Settled>): Changes[number] => [
  "settled",
  (state) =>
    withSettled(state, "k", { runId: null, replies: [], unanswered: null, historyEnd: null, ...settled } as Settled),
];

interface Course {
  readonly name: string;
  readonly requests: Changes;
  readonly stream: Changes;
  /** The log at the end, apart from the message. */
  readonly ends: readonly string[];
}

const entries: Changes = [
  ["start", event("start")],
  ["asked", event("entry", asked)],
];
const answer: Changes = [
  ["delta", event("delta", { text: "Noon." })],
  ["said", event("entry", said)],
];
const end: Changes[number] = ["end", event("end", { result: { outcome: "ok" } })];
const failed: Changes[number] = ["failed", event("end", { result: { outcome: "error", error: { message: WHY } } })];
const answered = settle({ runId: RUN, replies: [{ text: "Noon.", isError: false }], historyEnd: 3 });
const unable = settle({ runId: RUN, replies: [{ text: WHY, isError: true }], historyEnd: 2 });
/** The connection was lost: the history is read again, and what the stream sends again is skipped. */
const again = (...read: readonly object[]): Changes[number] => [
  "read again",
  ({ pending, live, ended }) => {
    const fresh: ChatState = { ...EMPTY_CHAT, pending, live, ended };
    return withoutArrived(read.reduce<ChatState>((state, one) => event("entry", one)(state), fresh));
  },
];

const COURSES: readonly Course[] = [
  { name: "an answer", requests: [accept, answered], stream: [...entries, ...answer, end], ends: ["Noon."] },
  {
    name: "an answer whose end was lost",
    requests: [accept, answered],
    stream: [...entries, ...answer],
    ends: ["Noon."],
  },
  {
    name: "a history that is read again",
    requests: [accept, answered],
    stream: [again(asked), ...answer, end],
    ends: ["Noon."],
  },
  {
    name: "entries that come twice",
    requests: [accept, answered],
    stream: [...entries, ...entries, ...answer, ...entries, end],
    ends: ["Noon."],
  },
  { name: "a run that failed", requests: [accept, unable], stream: [...entries, failed], ends: [WHY] },
  { name: "a failed run whose end was lost", requests: [accept, unable], stream: entries, ends: [WHY] },
  {
    name: "a command",
    requests: [accept, settle({ replies: [{ text: "Model: x", isError: false }] })],
    stream: [],
    ends: ["Model: x"],
  },
  {
    name: "a command that is a run, such as /compact",
    requests: [accept, settle({ runId: RUN, replies: [{ text: "Compacted.", isError: false }] })],
    stream: [["start", event("start")], end],
    ends: ["Compacted."],
  },
  {
    name: "a command whose run failed",
    requests: [accept, settle({ runId: RUN, replies: [{ text: WHY, isError: true }] })],
    stream: [["start", event("start")], failed],
    ends: [WHY],
  },
  {
    name: "a message that the queue dropped",
    requests: [accept, settle({ replies: [{ text: "The message was dropped: old", isError: true }] })],
    stream: [["asked for another", event("entry", raw(1, { role: "user", content: [], seqs: [8] }))]],
    ends: ["The message was dropped: old"],
  },
];

/** Both lists in one, in every order. */
function orders(left: Changes, right: Changes): readonly Changes[] {
  const [first, ...rest] = left;
  const [other, ...others] = right;
  if (!first || !other) return [[...left, ...right]];
  return [
    ...orders(rest, right).map((all): Changes => [first, ...all]),
    ...orders(left, others).map((all): Changes => [other, ...all]),
  ];
}

describe.each(COURSES)("a message of this terminal: $name", ({ requests, stream, ends }) => {
  it("is on the screen after every event, in every order, and at the end once", () => {
    for (const order of orders(requests, stream)) {
      let state = typed;
      let names = "";
      for (const [name, change] of order) {
        state = change(state);
        names += `, ${name}`;
        // Before the answer to its request nothing tells that an entry is this message.
        if (names.includes("accepted")) expect(shown(state), names).toBe(1);
        else expect(shown(state), names).toBeGreaterThanOrEqual(1);
        expect(countIn(state, WHY), names).toBeLessThanOrEqual(1);
      }
      expect(state.pending, names).toEqual([]);
      for (const text of [TEXT, ...ends]) expect(countIn(state, text), names).toBe(1);
    }
  });
});

describe("a message of this terminal", () => {
  const settled: Settled = { runId: RUN, replies: [], unanswered: null, historyEnd: 2 };

  it("that ended waits for its entry, and not for ever if that is on another branch", () => {
    const waits = withSettled(patchPending(typed, "k", { seq: 7 }), "k", settled);
    expect(waits.pending).toHaveLength(1);
    expect(withoutArrived({ ...waits, position: 1 }).pending).toEqual([]);
  });

  it("that is a command is shown with its answer, once", () => {
    const command: Settled = { ...settled, historyEnd: null, replies: [{ text: "Model: x", isError: false }] };
    const once = withSettled(typed, "k", command);
    expect(withSettled(once, "k", command).blocks.map(textOf)).toEqual([TEXT, "Model: x"]);
  });

  it("says why there is no answer", () => {
    const unanswered = { reason: "suppressed", failed: false };
    const none = withSettled(typed, "k", { ...settled, runId: null, historyEnd: null, unanswered });
    expect(none.blocks.map(textOf)).toEqual([TEXT, "no answer: suppressed"]);
  });
});
