/** Which key of a provider is asked, what is remembered of it, and what the tries cost together. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { ModelErrorClass, ModelRequest } from "../../core/ports/model.ts";
import { askWithKeys } from "./ask-with-keys.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { KeyRotation, type KeySource } from "./key-rotation.ts";
import type { LoginProblem } from "./logins/logins.ts";
import type { ProviderCall, ProviderResult } from "./provider-call.ts";
import type { ProviderModel } from "./provider-model.ts";
import type { Provider } from "./providers.ts";

const MODEL: ProviderModel = {
  ...{ provider: "house", id: "m", api: "openai-responses", baseUrl: "http://house", images: false, thinking: ["off"] },
  ...{ contextWindow: 1_000, maxTokens: 100, cost: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 } },
};
const USAGE = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 6 };
const used = (input: number) => ({ ...USAGE, input });

const keyOf = (value: string | undefined, profile = value ?? "gone"): KeySource => ({
  ...{ profile, where: `the key ${profile}`, reveal: () => value },
});
const tokenOf = (profile: string, reveal: () => string | undefined, baseUrl?: string): KeySource => ({
  ...{ profile, where: `the login ${profile}`, reveal, login: { headers: { "x-account": profile }, baseUrl } },
});

type Answer = Partial<ProviderResult> & { readonly class?: ModelErrorClass; readonly retryAfterMs?: number };

function house(
  sources: readonly KeySource[],
  answers: readonly (Answer | (() => Answer))[],
  more: Partial<Provider> = {},
) {
  const clock = virtualClock();
  const calls: ProviderCall[] = [];
  const provider: Provider = {
    ...{ name: "house", keys: new KeyRotation("house", clock, () => sources), keyless: false, stallMs: 1_000 },
    concurrency: new ConcurrencyLimit(2),
    ...more,
  };
  const ask = (request: Partial<ModelRequest> = {}, signal = new AbortController().signal) =>
    askWithKeys({
      ...{
        deps: { clock, fetch, userAgent: "test" },
        log: silentLog,
        model: MODEL,
        provider,
        thinking: undefined,
        signal,
      },
      forwarder: { startTry: () => {}, forward: () => {} },
      request: { model: "house/m", system: "", messages: [], tools: [], sessionId: "s", ...request },
      api: async (_, call) => {
        const given = answers[calls.push(call) - 1] ?? {};
        const { class: kind, retryAfterMs, ...answer } = typeof given === "function" ? given() : given;
        const error = kind && { class: kind, message: kind, retryAfterMs };
        return { content: [], stopReason: "stop", api: "", provider: "house", model: "m", error, ...answer };
      },
    });
  return { clock, calls, provider, ask, keys: () => calls.map(({ key }) => key) };
}

describe("the token of a login that is refused before its time", () => {
  const replaced = (answers: readonly Answer[], isReplaced = true) => {
    let token = "old";
    const asked: unknown[] = [];
    const one = house([tokenOf("default", () => token)], answers, {
      replaceToken: async (...given) => {
        asked.push(given);
        if (isReplaced) token = "new";
        return isReplaced;
      },
    });
    return { ...one, asked };
  };

  test("is replaced, and the call is made once more", async () => {
    const one = replaced([{ class: "auth", status: 401 }, {}]);
    expect((await one.ask()).error).toBeUndefined();
    expect([one.keys(), one.asked]).toEqual([["old", "new"], [["default", "old"]]]);
  });

  test.each([
    ["a status other than 401", { class: "auth", status: 403 } as const, true, ["old"]],
    ["no new token", { class: "auth", status: 401 } as const, false, ["old"]],
  ])("is not called again with %s", async (_, answer, isReplaced, keys) => {
    const one = replaced([answer], isReplaced);
    expect((await one.ask()).error?.class).toBe("auth");
    expect(one.keys()).toEqual(keys);
  });

  test("is not replaced for a plain key, or after an abort", async () => {
    const plain = house([keyOf("k")], [{ class: "auth", status: 401 }], { replaceToken: () => expect.unreachable() });
    expect((await plain.ask()).error?.class).toBe("auth");
    const stop = new AbortController();
    const answer = (): Answer => {
      stop.abort();
      return { class: "auth", status: 401 };
    };
    const sources = [tokenOf("default", () => "old"), keyOf("other")];
    const aborted = house(sources, [answer], { replaceToken: () => expect.unreachable() });
    await aborted.ask({}, stop.signal);
    expect(aborted.keys()).toEqual(["old"]);
  });

  test("is out of the way: a limit of the new one is its own, and a wait", async () => {
    const one = replaced([{ class: "auth", status: 401 }, { class: "rate", retryAfterMs: 5_000 }, {}]);
    expect((await one.ask()).error).toMatchObject({ class: "rate", retryAfterMs: 5_000 });
    expect((await one.ask()).error).toMatchObject({ class: "rate", retryAfterMs: 5_000 });
    expect(one.keys()).toEqual(["old", "new"]);
    await one.clock.advance(5_000);
    expect((await one.ask()).error).toBeUndefined();
  });

  test("is out of the way: a refusal of the new one names the login", async () => {
    const one = replaced([
      { class: "auth", status: 401 },
      { class: "auth", status: 401 },
    ]);
    expect((await one.ask()).error?.message).toContain("The key for house was refused (401): the login default.");
    await one.ask();
    expect(one.keys()).toEqual(["old", "new"]);
  });

  test("goes with its headers to the address of its account", async () => {
    const one = house([tokenOf("mine", () => "t", "http://account")], []);
    await one.ask();
    expect(one.calls[0]).toMatchObject({ headers: { "x-account": "mine" }, model: { baseUrl: "http://account" } });
    const plain = house([keyOf("k")], []);
    await plain.ask();
    expect(plain.calls[0]?.headers).toBeUndefined();
    expect(plain.calls[0]?.model.baseUrl).toBe("http://house");
  });
});

describe("the tokens of failed tries are part of the cost", () => {
  test("of the keys before the one that answers", async () => {
    const answers = [{ class: "rate", usage: used(1) }, { class: "auth" }, { usage: used(3) }] as const;
    const result = await house([keyOf("a"), keyOf("b"), keyOf("c")], answers).ask();
    expect(result).toMatchObject({ usage: used(3), alsoUsed: [used(1)] });
  });

  test("if no key answers", async () => {
    const answers = [1, 2].map((input) => ({ class: "rate" as const, usage: used(input) }));
    const result = await house([keyOf("a"), keyOf("b")], answers).ask();
    expect(result).toMatchObject({ error: { class: "rate" }, usage: used(2), alsoUsed: [used(1)] });
  });

  test("of a token that was replaced", async () => {
    let token = "old";
    const replaceToken = async (): Promise<boolean> => {
      token = "new";
      return true;
    };
    const answers = [{ class: "auth", status: 401, usage: used(1) }, { usage: used(2) }] as const;
    const result = await house([tokenOf("default", () => token)], answers, { replaceToken }).ask();
    expect(result).toMatchObject({ usage: used(2), alsoUsed: [used(1)] });
  });

  test("and none are invented", async () => {
    expect(
      (await house([keyOf("a"), keyOf("b")], [{ class: "rate" }, { usage: USAGE }]).ask()).alsoUsed,
    ).toBeUndefined();
  });
});

describe("a call without a usable key", () => {
  const problem = (again: boolean): LoginProblem => ({ profile: "p", again, message: `again: ${again}` });

  test.each<[string, readonly KeySource[], readonly LoginProblem[], ModelErrorClass, string]>([
    ["says that there is none", [], [], "auth", "There is no key for house."],
    ["names the missing one", [keyOf(undefined)], [], "auth", "The key gone is not set or empty."],
    ["says that only a new login helps", [keyOf(undefined)], [problem(true)], "auth", "again: true"],
    ["says that a later try may work", [keyOf("")], [problem(true), problem(false)], "transient", "again: false"],
  ])("%s", async (_, sources, problems, kind, text) => {
    const one = house(sources, [], { refreshLogins: async () => problems });
    const { error } = await one.ask();
    expect(error).toMatchObject({ class: kind, message: expect.stringContaining(text) });
    expect(one.calls).toEqual([]);
  });

  test("is made if the provider needs none, but not if one is set and missing", async () => {
    const free = house([], [], { keyless: true });
    expect((await free.ask()).error).toBeUndefined();
    expect(free.keys()).toEqual([undefined]);
    const set = house([keyOf(undefined)], [], { keyless: true });
    expect((await set.ask()).error?.class).toBe("auth");
    expect(set.calls).toEqual([]);
    const refused = house([keyOf("a")], [{ class: "auth", status: 401 }], { keyless: true });
    for (let n = 0; n < 2; n++) expect((await refused.ask()).error?.class).toBe("auth");
    expect(refused.keys()).toEqual(["a"]);
  });

  test("waits for a limit rather than for a login", async () => {
    const one = house([keyOf("a")], [{ class: "rate", retryAfterMs: 1_000 }], {
      refreshLogins: async () => [problem(true)],
    });
    await one.ask();
    expect((await one.ask()).error).toMatchObject({ class: "rate", retryAfterMs: 1_000 });
  });

  test("is aborted while it waits for its turn", async () => {
    const one = house([keyOf("a")], [], { concurrency: new ConcurrencyLimit(0) });
    const stop = new AbortController();
    const asked = one.ask({}, stop.signal);
    stop.abort();
    expect(await asked).toMatchObject({ stopReason: "aborted", error: { class: "aborted" } });
  });
});

test.each([
  [undefined, 100],
  [99, 99],
  [100, 100],
  [500, 100],
])("an answer that is asked for with %s tokens has at most %i", async (maxTokens, limit) => {
  const one = house([keyOf("a")], []);
  await one.ask({ maxTokens });
  expect(one.calls[0]?.model.maxTokens).toBe(limit);
});

test.each([
  ["b", true, ["b"]],
  ["b", false, ["b", "a", "c"]],
  ["house:b", true, ["b"]],
  ["other:b", true, ["a", "b", "c"]],
  ["none", true, ["a", "b", "c"]],
])("the profile %s with only %s asks %j", async (name, only, keys) => {
  const one = house([keyOf("a"), keyOf("b"), keyOf("c")], Array(3).fill({ class: "rate" }));
  await one.ask({ authProfile: { name, only } });
  expect(one.keys()).toEqual(keys);
});
