import { describe, expect, it } from "vitest";
import type { RunEvent, RunEventBody } from "../../../engine/runtime/run-events.ts";
import { StreamedText } from "./streamed-text.ts";

const event = (body: RunEventBody): RunEvent => body as RunEvent;
const say = (text: string): RunEvent => event({ type: "delta", stream: "text", text });
const again = event({ type: "restart", attempt: 1 });

/** What a reader has at the end, or `void`. */
function read(events: readonly RunEvent[], final: string): string {
  const streamed = new StreamedText();
  let all = "";
  for (const next of [...events.map((one) => streamed.told(one)), streamed.ended(final)]) {
    if ("void" in next) return "void";
    all += next.send;
  }
  return all;
}

describe("text that cannot be taken back", () => {
  it.each([
    ["comes as it is said", [say("a"), say("b")], "ab", "ab"],
    ["is completed by the answer where nothing or not all was streamed", [say("a")], "abc", "abc"],
    ["is the answer where nothing was streamed", [], "abc", "abc"],
    ["goes on where a new try says the same", [say("ab"), again, say("a"), say("bc")], "abc", "abc"],
    ["goes on where a new try is cut short by another", [say("ab"), again, say("a"), again, say("abc")], "abc", "abc"],
    ["is void where a new try says something else", [say("ab"), again, say("x")], "x", "void"],
    ["is void where the answer is another", [say("ab")], "xy", "void"],
    [
      "parts what was said before a tool from what is said after it",
      [say("let me look"), event({ type: "step" }), say("found")],
      "found",
      "let me look\n\nfound",
    ],
    ["leaves thoughts out", [event({ type: "delta", stream: "thinking", text: "hm" }), say("a")], "a", "a"],
  ] as const)("%s", (_, events, final, expected) => {
    expect(read(events, final)).toBe(expected);
  });
});
