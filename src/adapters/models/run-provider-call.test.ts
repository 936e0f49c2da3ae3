/** How a call ends: what it keeps, which class and which words a failure gets. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { ModelEvent } from "../../core/ports/model.ts";
import type { ProviderCall } from "./provider-call.ts";
import type { ProviderModel } from "./provider-model.ts";
import { type Answer, runProviderCall } from "./run-provider-call.ts";

const MODEL: ProviderModel = {
  ...{ provider: "house", id: "m", api: "a", images: false, thinking: ["off"], contextWindow: 100, maxTokens: 10 },
  ...{
    baseUrl: "http://house:1/v1?key=sk-in-address-1234",
    cost: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
  },
};
const SAID: Answer = { content: [{ type: "text", text: "half" }], stopReason: "stop" };
const usage = (input: number, output = 1, cacheRead = 0) => ({
  ...{ input, output, cacheRead, cacheWrite: 0, totalTokens: input + output + cacheRead },
});

type CallBody = Parameters<typeof runProviderCall>[2];

function started(body: CallBody, more: Partial<ProviderCall> & { readonly status?: number } = {}) {
  const clock = virtualClock();
  const events: ModelEvent[] = [];
  const { status, ...call } = more;
  const answer = async (): Promise<Response> => new Response(status === 204 ? null : "{}", { status });
  const result = runProviderCall(
    { clock, fetch: answer, userAgent: "test" },
    {
      ...{ model: MODEL, key: "secret-key", stallMs: 90_000, signal: new AbortController().signal },
      request: { model: "house/m", system: "", messages: [], tools: [], sessionId: "s" },
      onEvent: (event) => events.push(event),
      ...call,
    },
    body,
  );
  return { clock, events, result };
}
const run = (body: CallBody, more?: Parameters<typeof started>[1]) => started(body, more).result;
const chain = (...codes: readonly unknown[]): Error =>
  codes.reduceRight<Error | undefined>(
    (cause, code) => Object.assign(new Error("may quote data", { cause }), { code }),
    undefined,
  ) as Error;

describe("a connection that breaks", () => {
  test.each<[string, unknown, string]>([
    ["with a code of the system", chain("ECONNREFUSED"), " (ECONNREFUSED)"],
    ["with a code deep below", chain(undefined, 7, "UND_ERR_SOCKET"), " (UND_ERR_SOCKET)"],
    ["with the first of two codes", chain("ECONNRESET", "EPIPE"), " (ECONNRESET)"],
    ["with words in place of a code", chain("my password is x"), ""],
    ["with small letters in place of a code", chain("econnreset"), ""],
    ["with a number in place of a code", chain(111), ""],
    ["with a list in place of a code", chain(["EPIPE"]), ""],
    ["with a code too deep below", chain(1, 2, 3, 4, 5, "EPIPE"), ""],
    ["with something that is no error", { code: "EPIPE" }, ""],
  ])("%s before the answer names the address without its query, and the code", async (_, error, code) => {
    const { error: found, stopReason } = await run(() => Promise.reject(error));
    expect(found).toMatchObject({
      class: "transient",
      message: `house could not be reached at http://house:1/v1${code}.`,
    });
    expect(stopReason).toBe("error");
  });

  test.each([
    [chain("ECONNRESET"), "The connection to house broke off (ECONNRESET)."],
    [chain(undefined), "The answer of house broke off or could not be read."],
  ])("during the answer says so and keeps what has arrived", async (error, message) => {
    const result = await run(async ({ exchange, draft }) => {
      await exchange.fetch("http://house");
      draft.read = () => SAID;
      throw error;
    });
    expect(result).toMatchObject({ content: SAID.content, error: { class: "transient", message } });
    expect(result.status).toBeUndefined();
  });

  test("at an address that is none says that", async () => {
    const model = { ...MODEL, baseUrl: "no address" };
    expect((await run(() => Promise.reject(chain()), { model })).error?.message).toContain("reached at its address.");
  });
});

describe("a failure that the provider reports", () => {
  test.each([
    [299, undefined, "house said: no"],
    [300, 300, "house answered 300: no"],
    [404, 404, "house answered 404: no"],
    [undefined, undefined, "house said: no"],
  ])("with the status %s has %s", async (status, expected, message) => {
    const result = await run(async () => ({ status, error: { text: "no" } }));
    expect(result).toMatchObject({ error: { message }, stopReason: "error" });
    expect(result.status).toBe(expected);
  });

  test("has the class that it was given, else the one of its status", async () => {
    expect((await run(async () => ({ status: 429, class: "request", error: { text: "x" } }))).error?.class).toBe(
      "request",
    );
    expect((await run(async () => ({ status: 429, error: { text: "x" } }))).error?.class).toBe("rate");
  });

  test("never repeats the key", async () => {
    const error = { text: "wrong: secret-key and sk-another-0123456789" };
    const { message } = (await run(async () => ({ status: 401, error }))).error ?? {};
    expect(message).toMatch(/^house answered 401: wrong: \S+ and \S+$/);
    expect(message).not.toMatch(/secret-key|another/);
  });

  test("has the wait of the report, else that of the response", async () => {
    expect((await run(async () => ({ status: 429, retryAfterMs: 5 }))).error?.retryAfterMs).toBe(5);
  });
});

describe("an answer", () => {
  test.each([
    ["that fits", 100, "stop", usage(100), undefined],
    ["of a prompt that is longer than the window", 100, "stop", usage(101), "overflow"],
    ["of such a prompt from a cache", 100, "stop", usage(1, 1, 100), "overflow"],
    ["without room for a word", 100, "length", usage(99, 0), "overflow"],
    ["that was cut after a word", 100, "length", usage(99, 1), undefined],
    ["with little room that ended", 100, "length", usage(98, 0), undefined],
    ["with calls", 100, "tool_calls", usage(500), undefined],
    ["of a model whose window is not known", 0, "stop", usage(500), undefined],
    ["that was not counted", 100, "stop", undefined, undefined],
  ] as const)("%s", async (_, contextWindow, stopReason, counted, expected) => {
    const result = await run(
      async ({ draft }) => {
        draft.read = () => ({ ...SAID, stopReason, usage: counted });
        return undefined;
      },
      { model: { ...MODEL, contextWindow } },
    );
    expect(result.error?.class).toBe(expected);
    expect(result.usage).toBe(counted);
    expect(result.stopReason).toBe(expected === undefined ? stopReason : "error");
  });

  test("that was given up is its beginning, and no failure", async () => {
    const result = await run(async ({ draft, abandon, signal }) => {
      draft.read = () => ({ ...SAID, cut: true });
      abandon();
      expect(signal.aborted).toBe(true);
      return undefined;
    });
    expect(result).toMatchObject({ content: SAID.content, cut: true });
    expect(result.error).toBeUndefined();
  });
});

describe("a call that ends early", () => {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const waiting: CallBody = async ({ draft, forward, signal }) => {
    draft.read = () => SAID;
    forward({ type: "text", delta: "half" });
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await turn();
    forward({ type: "text", delta: "late" });
    throw chain("ABORT_ERR");
  };

  test("by an abort keeps what has arrived, and forwards nothing more", async () => {
    const stop = new AbortController();
    const { result, events, clock } = started(waiting, { signal: stop.signal });
    stop.abort();
    expect(await result).toMatchObject({ stopReason: "aborted", error: { class: "aborted" }, content: SAID.content });
    for (let n = 0; n < 3; n++) await turn();
    expect(events).toEqual([{ type: "text", delta: "half" }]);
    expect(clock.timers).toBe(0);
  });

  test("before it began does nothing", async () => {
    const result = run(() => expect.unreachable(), { signal: AbortSignal.abort() });
    expect(await result).toMatchObject({ stopReason: "aborted", content: [], error: { class: "aborted" } });
  });

  test("because nothing comes is transient, at the limit and not before it", async () => {
    const { result, clock } = started(waiting);
    let isOver = false;
    void result.then(() => {
      isOver = true;
    });
    await clock.advance(89_999);
    await turn();
    expect(isOver).toBe(false);
    await clock.advance(1);
    const message = "house sent no data for 90 seconds.";
    expect(await result).toMatchObject({ error: { class: "transient", message }, content: SAID.content });
  });
});
