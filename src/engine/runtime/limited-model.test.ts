import { describe, expect, it } from "vitest";
import { modelResult } from "../../../test/kit/model.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { Block } from "../../core/history/entry.ts";
import type { Model, ModelEvent, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { limitedModel } from "./limited-model.ts";

const limit = (answerCharacters: number) => testSettings({ limits: { answerCharacters } });

const cutNote = (max: number): string => `\n\n[The answer was cut off here: it is longer than ${max} characters.]`;

const request: ModelRequest = { model: "m", system: "", messages: [], tools: [], sessionId: "s" };
const ABORTED = { class: "aborted", message: "aborted" } as const;

async function ask(model: Model["call"], max = 10) {
  const events: ModelEvent[] = [];
  const limited = limitedModel({ call: model }, limit(max));
  const result = await limited.call(request, new AbortController().signal, (event) => events.push(event));
  const said = events.map((event) => ("delta" in event ? event.delta : `<${event.type}>`)).join("");
  return { result, said, text: textOf(result) };
}
const textOf = ({ content }: ModelResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

/** Streams pieces until it is aborted, and returns all it said. */
const streaming =
  (pieces: readonly string[], type: "text" | "thinking" | "arguments" = "text"): Model["call"] =>
  async (_, signal, onEvent) => {
    let text = "";
    for (const delta of pieces) {
      if (signal.aborted) break;
      text += delta;
      onEvent({ type, delta });
    }
    const content = type === "text" ? [{ type: "text" as const, text }] : [];
    return modelResult(signal.aborted ? { content, error: ABORTED, stopReason: "aborted" } : { content });
  };

describe("an answer within its limit", () => {
  it("is passed on unchanged, and the adaptor knows the limit", async () => {
    let asked: ModelRequest | undefined;
    const answer = modelResult({ say: "hi", call: [{ name: "f" }] });
    const { result } = await ask(async (given) => {
      asked = given;
      return answer;
    }, 100);
    expect(result).toBe(answer);
    expect(asked).toEqual({ ...request, maxCharacters: 100 });
  });

  it("may have exactly its length, also in pieces", async () => {
    const { result, said } = await ask(streaming(["12345", "67890"]));
    expect([result.cut, textOf(result), said]).toEqual([undefined, "1234567890", "1234567890"]);
  });

  it("has the price of its model, if that has one", async () => {
    class Priced {
      readonly window = 7;
      async call(): Promise<ModelResult> {
        return modelResult("hi");
      }
      async price() {
        return { contextWindow: this.window } as never;
      }
    }
    expect(await limitedModel(new Priced(), limit(10)).price?.(request)).toEqual({ contextWindow: 7 });
    expect(limitedModel({ call: async () => modelResult("hi") }, limit(10)).price).toBeUndefined();
  });

  it("starts to count again with a new attempt", async () => {
    const { result, said } = await ask(async (_, __, onEvent) => {
      onEvent({ type: "text", delta: "12345678" });
      onEvent({ type: "restart" });
      onEvent({ type: "text", delta: "abcdefgh" });
      return modelResult("abcdefgh");
    });
    expect(textOf(result)).toBe("abcdefgh");
    expect(said).toBe("12345678<restart>abcdefgh");
  });
});

describe("an answer that is too long", () => {
  it("is ended while it streams, and stream and history say so with the same words", async () => {
    let sent = 0;
    const endless = Array.from({ length: 1_000 }, () => "abc");
    const { result, said, text } = await ask(async (given, signal, onEvent) =>
      streaming(endless)(given, signal, (event) => {
        sent += 1;
        onEvent(event);
      }),
    );
    expect(sent).toBe(4);
    expect(text).toBe(`abcabcabca${cutNote(10)}`);
    expect(said).toBe(text);
    expect(result).toMatchObject({ stopReason: "length", cut: true });
    expect(result.error).toBeUndefined();
  });

  it("sends no empty piece if the one before has filled it", async () => {
    const pieces: string[] = [];
    const limited = limitedModel({ call: streaming(["1234567890", "abc"]) }, limit(10));
    await limited.call(request, new AbortController().signal, (event) =>
      pieces.push("delta" in event ? event.delta : ""),
    );
    expect(pieces).toEqual(["1234567890", cutNote(10)]);
  });

  it("is cut between characters that a person sees", async () => {
    const { text } = await ask(streaming(["12345678", "👨‍👩‍👧‍👦"]));
    expect(text).toBe(`12345678${cutNote(10)}`);
  });

  it("counts thinking and the arguments of calls, which are not streamed", async () => {
    expect((await ask(streaming(["123456", "123456"], "thinking"))).said).toBe(`1234561234${cutNote(10)}`);
    const { said, result } = await ask(streaming(["123456", "123456"], "arguments"));
    expect(said).toBe(cutNote(10));
    expect(textOf(result)).toBe(cutNote(10).trim());
  });

  it("is cut at its end if the model streams nothing", async () => {
    const { text, result } = await ask(async () => modelResult("x".repeat(50)));
    expect(text).toBe(`${"x".repeat(10)}${cutNote(10)}`);
    expect(result.stopReason).toBe("length");
  });

  it("loses the calls that do not fit, and its note comes before those that do", async () => {
    const call = { call: [{ name: "f" }, { name: "g", with: { text: "x".repeat(500) } }] };
    const { result } = await ask(async () => modelResult(call), 400);
    expect(result.content).toMatchObject([{ type: "text" }, { type: "toolCall", name: "f" }]);
  });

  it("stays a failure if it failed by itself", async () => {
    const error = { class: "transient", message: "broke off" } as const;
    const { result } = await ask(async () => modelResult({ content: [{ type: "text", text: "x".repeat(50) }], error }));
    expect(result).toMatchObject({ error, content: [{ text: "x".repeat(10) }] });
  });

  it("ends as aborted if the caller aborts it", async () => {
    const stop = new AbortController();
    const limited = limitedModel({ call: streaming(["123", "456", "789", "abc"]) }, limit(10));
    const result = await limited.call(request, stop.signal, () => stop.abort());
    expect(result.error?.class).toBe("aborted");
  });
});

describe("a caller that aborts after the answer was cut", () => {
  it("gets an answer that was aborted, within the limit and without a note", async () => {
    const stop = new AbortController();
    const said: string[] = [];
    const limited = limitedModel(
      {
        call: async (_request, signal, onEvent) => {
          onEvent({ type: "text", delta: "0123456789abc" });
          expect(signal.aborted).toBe(true);
          stop.abort();
          return modelResult({ content: [{ type: "text", text: "0123456789abc" }], error: ABORTED });
        },
      },
      limit(10),
    );
    const result = await limited.call(request, stop.signal, (event) => said.push("delta" in event ? event.delta : ""));
    expect(result).toMatchObject({ error: ABORTED, content: [{ type: "text", text: "0123456789" }] });
    expect([textOf(result), said]).toEqual(["0123456789", ["0123456789"]]);
  });
});

describe("a caller that aborts", () => {
  const asked = async (abort: (caller: AbortController) => void): Promise<{ aborted: boolean; reason: unknown }> => {
    const caller = new AbortController();
    let inner: AbortSignal | undefined;
    const limited = limitedModel(
      {
        call: async (_request, signal) => {
          inner = signal;
          abort(caller);
          return modelResult("hi");
        },
      },
      limit(10),
    );
    if (abort.name === "before") caller.abort("enough");
    await limited.call(request, caller.signal, () => {});
    const seen = { aborted: inner?.aborted ?? false, reason: inner?.reason as unknown };
    // After the call a late abort reaches nobody.
    caller.abort("late");
    return seen;
  };

  it("before the call reaches the model with its reason", async () => {
    expect(await asked(function before() {})).toEqual({ aborted: true, reason: "enough" });
  });

  it("during the call reaches the model with its reason", async () => {
    expect(await asked((caller) => caller.abort("now"))).toEqual({ aborted: true, reason: "now" });
  });

  it("and one that does not leave the model alone", async () => {
    expect(await asked(() => {})).toEqual({ aborted: false, reason: undefined });
  });
});

describe("the size of an answer", () => {
  it.each<[string, Block, number]>([
    ["a text", { type: "text", text: "12345" }, 5],
    ["a thought", { type: "thinking", thinking: "123456" }, 6],
    ["an image", { type: "image", data: "aGk=", mimeType: "image/png" }, 4],
    // Its frame, its id, its name and the texts of its arguments.
    ["a call", { type: "toolCall", id: "c1", name: "find", arguments: { q: "abc" } }, 64 + 2 + 4 + 3],
    ["a call without arguments", { type: "toolCall", id: "c", name: "f", arguments: {} }, 64 + 1 + 1],
  ])("counts all of %s", async (_title, block, size) => {
    const cut = async (max: number) => (await ask(async () => modelResult({ content: [block] }), max)).result.cut;
    expect([await cut(size), await cut(size - 1)]).toEqual([undefined, true]);
  });
});

describe("the note at the end of an answer that was cut", () => {
  it("follows the last text and leaves everything before it as it was", async () => {
    const content = [
      { type: "thinking" as const, thinking: "ab" },
      { type: "text" as const, text: "cd" },
      { type: "text" as const, text: "efghijklm" },
    ];
    const { result } = await ask(async () => modelResult({ content }));
    expect(result.content).toEqual([content[0], content[1], { type: "text", text: `efghij${cutNote(10)}` }]);
  });

  it("stands on its own after a thought, and before the calls", async () => {
    const content = [
      { type: "thinking" as const, thinking: "ab" },
      { type: "toolCall" as const, id: "c", name: "f", arguments: {} },
      { type: "text" as const, text: "x".repeat(200) },
    ];
    const { result } = await ask(async () => modelResult({ content }), 100);
    expect(result.content.map(({ type }) => type)).toEqual(["thinking", "text", "toolCall", "text"]);
    expect(result.content[1]).toEqual({ type: "text", text: cutNote(100).trimStart() });
    expect(result).toMatchObject({ stopReason: "length", cut: true });
  });

  it.each([
    [10, false],
    [9, true],
  ])("is written only if the answer is longer than allowed: %i characters", async (max, cut) => {
    const { result } = await ask(async () => modelResult("0123456789"), max);
    expect([result.cut === true, textOf(result).includes("cut off")]).toEqual([cut, cut]);
  });
});
