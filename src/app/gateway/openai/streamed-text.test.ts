import { describe, expect, it } from "vitest";
import type { RunEvent, RunEventBody } from "../../../engine/runtime/run-events.ts";
import { StreamedText } from "./streamed-text.ts";

const event = (body: RunEventBody): RunEvent => body as RunEvent;
const say = (text: string): RunEvent => event({ type: "delta", stream: "text", text });
const restart = event({ type: "restart", attempt: 1 });

/** All text that a reader receives, or `void`. */
function read(events: readonly RunEvent[], final: string): string {
  const streamed = new StreamedText();
  let all = "";
  for (const next of [...events.map((one) => streamed.onEvent(one)), streamed.onEnd(final)]) {
    if ("void" in next) return "void";
    all += next.send;
  }
  return all;
}

describe("streamed text", () => {
  it.each([
    ["is sent as the model produces it", [say("a"), say("b")], "ab", "ab"],
    ["is completed by the answer if not all of it was streamed", [say("a")], "abc", "abc"],
    ["is the answer if nothing was streamed", [], "abc", "abc"],
    ["continues if a new attempt repeats it", [say("ab"), restart, say("a"), say("bc")], "abc", "abc"],
    ["continues if a second new attempt repeats it", [say("ab"), restart, say("a"), restart, say("abc")], "abc", "abc"],
    ["is void if a new attempt differs", [say("ab"), restart, say("x")], "x", "void"],
    ["is void if the answer differs", [say("ab")], "xy", "void"],
    [
      "has a blank line between two steps",
      [say("let me look"), event({ type: "step" }), say("found")],
      "found",
      "let me look\n\nfound",
    ],
    ["leaves thinking out", [event({ type: "delta", stream: "thinking", text: "hm" }), say("a")], "a", "a"],
  ] as const)("%s", (_, events, final, expected) => {
    expect(read(events, final)).toBe(expected);
  });
});
