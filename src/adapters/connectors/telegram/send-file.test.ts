import { describe, expect, test } from "vitest";
import type { BotApi, BotCall } from "./bot-api.ts";
import { sendFile } from "./send-file.ts";

const OK = { status: "ok", result: { message_id: 7 } } as const;
const UNKNOWN = { status: "unknown", reason: "cut" } as const;
const refusal = (code: number, said: string) => ({ status: "refused", code, reason: `${code}: ${said}` }) as const;
const PLACE = { chat_id: "-5", message_thread_id: 8 };

async function send(data: Uint8Array | undefined, mimeType = "image/png", answers: readonly BotCall<unknown>[] = []) {
  const calls: [method: string, args: Record<string, unknown>][] = [];
  const api = {
    async call(method: string, args: Record<string, unknown>) {
      calls.push([method, args]);
      return answers[calls.length - 1] ?? OK;
    },
  } as unknown as BotApi;
  const files = { maxBytes: 1, put: async () => ({}) as never, read: async () => data };
  const file = { id: "file_1", name: "a", size: 5, mimeType } as const;
  const result = await sendFile({ api, files }, PLACE, file, new AbortController().signal);
  return { result, calls, methods: calls.map(([method]) => method) };
}

describe("a picture", () => {
  test.each<[string, readonly BotCall<unknown>[], readonly string[], BotCall<unknown>]>([
    ["is a photo", [], ["sendPhoto"], OK],
    [
      "that the server does not take is a document",
      [refusal(400, "PHOTO_INVALID_DIMENSIONS")],
      ["sendPhoto", "sendDocument"],
      OK,
    ],
    [
      "to a chat that is gone is refused",
      [refusal(400, "chat not found")],
      ["sendPhoto"],
      refusal(400, "chat not found"),
    ],
    ["that is too much at once waits", [refusal(429, "photo")], ["sendPhoto"], refusal(429, "photo")],
    ["that may have arrived is not sent again", [UNKNOWN], ["sendPhoto"], UNKNOWN],
    [
      "that may have arrived as a document is not either",
      [refusal(400, "PHOTO"), UNKNOWN],
      ["sendPhoto", "sendDocument"],
      UNKNOWN,
    ],
  ])("%s", async (_, answers, expected, call) => {
    const { result, calls, methods } = await send(Buffer.from("bytes"), "image/png", answers);
    expect([result, methods]).toEqual([{ call }, expected]);
    for (const [, args] of calls) expect(args).toMatchObject(PLACE);
  });

  test.each([
    [10_000_000, "sendPhoto"],
    [10_000_001, "sendDocument"],
  ])("of %i bytes is sent with %s", async (length, method) => {
    expect((await send(Buffer.alloc(length))).methods).toEqual([method]);
  });
});

describe("a file", () => {
  test.each([
    ["image/webp", "sendPhoto"],
    ["image/gif", "sendDocument"],
    ["video/mp4", "sendVideo"],
    ["video/webm", "sendDocument"],
    ["audio/ogg; codecs=opus", "sendVoice"],
    ["audio/mpeg", "sendDocument"],
  ])("of the type %s is sent with %s", async (mimeType, method) => {
    expect((await send(Buffer.from("bytes"), mimeType)).methods).toEqual([method]);
  });

  test("that is gone is refused, and nothing is sent", async () => {
    const { result, calls } = await send(undefined);
    expect(result).toEqual({ status: "refused", reason: "the file a is no longer stored" });
    expect(calls).toEqual([]);
  });
});
