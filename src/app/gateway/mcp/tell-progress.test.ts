import { describe, expect, it } from "vitest";
import type { AnswerEvent } from "../../client/stream-answer.ts";
import { progressTeller, tellProgress } from "./tell-progress.ts";

const delta = (length: number) =>
  ({ type: "delta", stream: "text", text: "x".repeat(length) }) as unknown as AnswerEvent;
const event = (type: string, more: object = {}) => ({ type, ...more }) as unknown as AnswerEvent;

async function toldOf(events: readonly AnswerEvent[]): Promise<readonly string[]> {
  const told: string[] = [];
  const source = async function* () {
    yield* events;
  };
  await tellProgress(source(), async (message) => void told.push(message));
  return told;
}

describe("what a caller is told about a run", () => {
  it.each<[string, readonly AnswerEvent[], readonly string[]]>([
    ["nothing before the first event", [], []],
    ["that it began, once", [event("start"), event("step")], ["The agent works on it."]],
    ["the tools it uses", [event("tool_start", { name: "read" })], ["The agent works on it.", "Uses read."]],
    [
      "that it summarises",
      [event("compaction_start")],
      ["The agent works on it.", "Summarises the conversation so far."],
    ],
    ["nothing about a short answer", [delta(399)], ["The agent works on it."]],
    ["an answer of 400 characters", [delta(400)], ["The agent works on it.", "Writes the answer: 400 characters."]],
    [
      "pieces together, each 400 characters after the last message",
      [delta(300), delta(300), delta(399), delta(1), delta(400)],
      [
        "The agent works on it.",
        "Writes the answer: 600 characters.",
        "Writes the answer: 1000 characters.",
        "Writes the answer: 1400 characters.",
      ],
    ],
  ])("is %s", async (_, events, expected) => {
    expect(await toldOf(events)).toEqual(expected);
  });

  it("ends without an error if the stream or the caller is gone", async () => {
    const failing = async function* () {
      yield event("start");
      throw new TypeError("the stream is gone");
    };
    await tellProgress(failing(), async () => {});
    const endless = async function* () {
      for (;;) yield event("start");
    };
    await tellProgress(endless(), () => Promise.reject(new TypeError("the caller is gone")));
  });
});

describe("a progress notification", () => {
  const tellerWith = (progressToken: string | number | undefined) => {
    const sent: object[] = [];
    const notify = async (message: object) => void sent.push(message);
    const request = { _meta: progressToken === undefined ? undefined : { progressToken }, notify };
    return { sent, tell: progressTeller(request as never) };
  };

  it("is sent only if the caller asked for it, also with the token 0", async () => {
    expect(tellerWith(undefined).tell).toBeUndefined();
    expect(tellerWith(0).tell).toBeDefined();
  });

  it("is numbered, and has at most 200 well-formed characters", async () => {
    const { sent, tell } = tellerWith("p");
    await tell?.("one");
    await tell?.(`${"x".repeat(199)}😀`);
    expect(sent).toEqual([
      { method: "notifications/progress", params: { progressToken: "p", progress: 1, message: "one" } },
      {
        method: "notifications/progress",
        params: { progressToken: "p", progress: 2, message: `${"x".repeat(199)}\ufffd` },
      },
    ]);
  });
});
