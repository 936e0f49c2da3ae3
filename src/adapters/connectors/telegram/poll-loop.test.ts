/** The loop that asks for updates, and the watch over a webhook, against an API that a test plays. Only what is stored is confirmed. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../app/testing/clock.ts";
import { recordingLog } from "../../../app/testing/log.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { BotApi, BotCall } from "./bot-api.ts";
import { ALLOWED_UPDATES, pollUpdates } from "./poll-updates.ts";
import { setWebhook, watchWebhook } from "./watch-webhook.ts";

type Args = Readonly<Record<string, unknown>>;

/** `answers` are given one after the other; after the last one the loop is stopped. */
function world(answers: readonly BotCall<unknown>[]) {
  const clock = virtualClock();
  const stop = new AbortController();
  const calls: { readonly method: string; readonly args: Args; readonly at: number }[] = [];
  const told: string[] = [];
  const api = {
    async call(method: string, args: Args) {
      calls.push({ method, args, at: clock.monotonic() });
      const answer = answers[calls.length - 1];
      if (!answer) stop.abort();
      return answer ?? { status: "unknown", reason: "stopped" };
    },
  } as unknown as BotApi;
  const deps = {
    ...{ api, clock, log: recordingLog([]), account: "bot" },
    onProblem: (text: string) => void told.push(text),
    onAnswer: () => void told.push("fine"),
  };
  const over = async (work: Promise<void>): Promise<void> => {
    let isOver = false;
    const end = work.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(500, () => new Promise((resolve) => setImmediate(resolve)));
    await end;
  };
  return { clock, stop, calls, told, api, deps, over };
}

const ok = (result: unknown): BotCall<unknown> => ({ status: "ok", result });
const update = (update_id: number, chat: number) => ({ update_id, message: { chat: { id: chat } } });
const AWAY = Object.assign(new TypeError("away"), { retryable: true });

async function poll(answers: readonly BotCall<unknown>[], fails: Record<number, unknown[]> = {}) {
  const one = world(answers);
  const handled: number[] = [];
  const handle = async (given: unknown): Promise<void> => {
    const { update_id: id } = given as { update_id: number };
    const error = fails[id]?.shift();
    if (error) throw error;
    handled.push(id);
  };
  await one.over(pollUpdates({ ...one.deps, handle, timeoutSeconds: 5 }, one.stop.signal));
  return { ...one, handled, offsets: one.calls.map(({ args }) => args.offset) };
}

describe("asking for updates", () => {
  it("asks for what the bot reads, and waits at the server", async () => {
    const { calls } = await poll([]);
    expect(calls[0]?.args).toEqual({
      offset: undefined,
      limit: 100,
      timeout: 5,
      allowed_updates: [...ALLOWED_UPDATES],
    });
    for (const kind of ["message_reaction", "callback_query", "edited_message"])
      expect(ALLOWED_UPDATES).toContain(kind);
  });

  it("confirms what was handled, and keeps its place while nothing comes", async () => {
    const { offsets, handled } = await poll([ok([update(4, 1), update(7, 2)]), ok([]), ok([update(8, 1)])]);
    expect([offsets, handled]).toEqual([
      [undefined, 8, 8, 9],
      [4, 7, 8],
    ]);
  });

  it("confirms nothing behind an update that was not stored; other chats go on", async () => {
    const batch = [update(4, 1), update(5, 1), update(6, 2)];
    const { offsets, handled } = await poll([ok(batch), ok(batch)], { 4: [AWAY] });
    expect([offsets, handled]).toEqual([
      [undefined, 4, 7],
      [6, 4, 6, 5],
    ]);
  });

  it("keeps its place at the first of several that were not stored", async () => {
    const batch = [update(4, 1), update(5, 2), update(6, 3)];
    const { offsets, handled } = await poll([ok(batch), ok(batch)], { 4: [AWAY], 6: [AWAY] });
    expect(offsets).toEqual([undefined, 4, 7]);
    expect(handled.toSorted()).toEqual([4, 5, 5, 6]);
  });

  it("waits longer each time that it gets no further", async () => {
    const batch = ok([update(4, 1)]);
    const { calls, offsets } = await poll([batch, batch, batch, batch], { 4: [AWAY, AWAY, AWAY] });
    expect(offsets).toEqual([undefined, 4, 4, 4, 5]);
    const pauses = calls.slice(1).map(({ at }, n) => at - (calls[n]?.at ?? 0));
    expect(pauses.slice(1)).toEqual([1_000, 2_000, 0]);
  });

  it("passes over what can never be handled", async () => {
    const { offsets, handled } = await poll([ok([update(4, 1), update(5, 1)])], { 4: [new InvalidInputError("odd")] });
    expect([offsets, handled]).toEqual([[undefined, 6], [5]]);
  });

  test.each([
    [
      { status: "refused", code: 409, reason: "409: x" },
      "another program receives the messages of this bot: 409: x",
      1_000,
    ],
    [{ status: "refused", code: 401, reason: "401: x" }, "the token is not valid: 401: x", 1_000],
    [{ status: "refused", code: 429, reason: "429: x", retryAfterMs: 9_000 }, "429: x", 9_000],
    [{ status: "refused", code: 429, reason: "429: x", retryAfterMs: 10 }, "429: x", 1_000],
    [{ status: "not-sent", reason: "away" }, "away", 1_000],
  ] as const)("after %j it says what is wrong and waits", async (answer, problem, pause) => {
    const { told, calls } = await poll([answer, ok([])]);
    expect(told).toEqual([problem, "fine"]);
    expect(calls[1]?.at).toBe(pause);
  });

  it("waits up to a minute while the server is away, and at first again after an answer", async () => {
    const away: BotCall<unknown> = { status: "unknown", reason: "away" };
    const { calls } = await poll([...Array.from({ length: 9 }, () => away), ok([]), away]);
    const pauses = calls.slice(1).map(({ at }, n) => at - (calls[n]?.at ?? 0));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 0, 1].map((seconds) => seconds * 1_000));
  });
});

describe("the watch over a webhook", () => {
  const HOOK = { url: "https://bot.example/x", secret: "s3cret" };
  const info = (more: object = {}) => ok({ url: HOOK.url, pending_update_count: 0, ...more });

  async function watch(...answers: readonly BotCall<unknown>[]) {
    const one = world(answers);
    await one.over(watchWebhook(one.deps, HOOK, one.stop.signal));
    return one;
  }

  it("looks once a minute", async () => {
    const { calls, told } = await watch(info(), info());
    expect(calls.map(({ at }) => at)).toEqual([60_000, 120_000, 180_000]);
    expect(told).toEqual(["fine", "fine"]);
  });

  test.each<[string, readonly object[], readonly string[]]>([
    [
      "tells a failure once",
      [
        { last_error_date: 1, last_error_message: "no route", pending_update_count: 2 },
        { last_error_date: 1, pending_update_count: 2 },
      ],
      ["Telegram cannot bring 2 updates to https://bot.example/x: no route", "fine"],
    ],
    [
      "tells a new failure again",
      [
        { last_error_date: 1, pending_update_count: 1 },
        { last_error_date: 2, pending_update_count: 1 },
      ],
      [
        "Telegram cannot bring 1 updates to https://bot.example/x: no reason given",
        "Telegram cannot bring 1 updates to https://bot.example/x: no reason given",
      ],
    ],
    ["does not tell a failure after which all came", [{ last_error_date: 1, pending_update_count: 0 }], ["fine"]],
  ])("%s", async (_, answers, expected) => {
    expect((await watch(...answers.map(info))).told).toEqual(expected);
  });

  it("says that the server does not answer, and goes on", async () => {
    expect((await watch({ status: "unknown", reason: "away" }, info())).told).toEqual(["away", "fine"]);
  });

  it("takes its place back from another program", async () => {
    const { calls, told } = await watch(info({ url: "https://thief.example" }), ok(true), info());
    expect(calls.map(({ method }) => method).slice(0, 3)).toEqual(["getWebhookInfo", "setWebhook", "getWebhookInfo"]);
    expect(calls[1]?.args).toMatchObject({
      url: HOOK.url,
      secret_token: "s3cret",
      allowed_updates: [...ALLOWED_UPDATES],
    });
    expect(told).toEqual(["another program has taken the updates of this bot; its webhook is set again", "fine"]);
  });

  test.each([
    ["a bad secret", "no spaces, please", ok(true), "characters that Telegram does not take", 0],
    [
      "an address that is refused",
      "s",
      { status: "refused", code: 400, reason: "bad" },
      "does not take https://bot.example/x",
      1,
    ],
    ["a server that is away", "s", { status: "unknown", reason: "away" }, "Telegram cannot be reached: away", 1],
    ["another refusal", "s", { status: "refused", code: 429, reason: "slow" }, "Telegram cannot be reached: slow", 1],
  ] as const)("does not begin with %s", async (_, secret, answer, expected, asked) => {
    const { api, calls, stop } = world([answer]);
    await expect(setWebhook(api, { ...HOOK, secret }, stop.signal)).rejects.toThrow(expected);
    expect(calls).toHaveLength(asked);
  });
});
