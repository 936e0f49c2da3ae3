import { describe, expect, it } from "vitest";
import { testRouter } from "./router.test-kit.ts";

const HOUSE = `house: { api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1", apiKey: "key-one", apiKeys: { work: "key-two" }, models: [{ id: "m", thinking: ["off", "low", "high"] }, { id: "n" }] }`;
const SPARE = `spare: { api: "openai-completions", baseUrl: "http://127.0.0.1:8/v1", apiKey: "key-spare" }`;
const ONE = `{ providers: { ${HOUSE} } }`;
const BOTH = `{ providers: { ${HOUSE}, ${SPARE} } }`;
const WITH_SPARE = { fallbacks: ["spare/s"] };

describe("keys", () => {
  it("are used in order", async () => {
    const router = testRouter(ONE, () => undefined);
    expect((await router.ask()).error).toBeUndefined();
    expect(router.asked).toEqual(["house/m key-one"]);
  });

  it("rotate at a rate limit, and the first one returns after its cooldown", async () => {
    const router = testRouter(ONE, (_, n) => (n === 1 ? { class: "rate", retryAfterMs: 5_000 } : undefined));
    expect((await router.ask()).error).toBeUndefined();
    await router.ask();
    router.clock.advanceSync(5_000);
    await router.ask();
    expect(router.asked).toEqual(["house/m key-one", "house/m key-two", "house/m key-two", "house/m key-one"]);
  });

  it("if all are at their limit, the call returns the shortest wait and sends no request before it ends", async () => {
    const router = testRouter(ONE, (_, n) => ({ class: "rate", retryAfterMs: n === 1 ? 9_000 : 4_000 }));
    expect((await router.ask()).error).toMatchObject({ class: "rate", retryAfterMs: 4_000 });
    router.clock.advanceSync(1_000);
    expect((await router.ask()).error).toMatchObject({ class: "rate", retryAfterMs: 3_000 });
    expect(router.asked).toHaveLength(2);
  });

  it("cool down longer after each rate limit that states no wait", async () => {
    const router = testRouter(`{ providers: { ${SPARE} } }`, () => ({ class: "rate" }));
    const waits: (number | undefined)[] = [];
    for (let round = 0; round < 3; round++) {
      const { error } = await router.ask({ model: "spare/s" });
      waits.push(error?.retryAfterMs);
      router.clock.advanceSync(error?.retryAfterMs ?? 0);
    }
    expect(waits).toEqual([2_000, 4_000, 8_000]);
  });

  it("rest after a refusal, and are tried again after the pause or when they change", async () => {
    const router = testRouter(
      `{ providers: { house: { api: "openai-completions", baseUrl: "http://h", apiKey: { env: "K" }, models: [{ id: "m" }] } } }`,
      ({ key }) =>
        key === "good" ? undefined : { error: { class: "auth", message: "house answered 401: bad" }, status: 401 },
    );
    router.env.K = "bad";
    const first = await router.ask();
    expect(first.error).toMatchObject({ class: "auth" });
    expect(first.error?.message).toContain("the environment variable K");
    expect(first.error?.message).toContain("rookery models keys add house");
    router.clock.advanceSync(59_999);
    await router.ask();
    expect(router.asked).toEqual(["house/m bad"]);
    router.clock.advanceSync(1);
    await router.ask();
    expect(router.asked).toEqual(["house/m bad", "house/m bad"]);
    router.env.K = "good";
    expect((await router.ask()).error).toBeUndefined();
  });

  it("refused for one model are still used for another", async () => {
    const router = testRouter(
      `{ providers: { house: { api: "openai-completions", baseUrl: "http://h", apiKey: "k" } } }`,
      ({ model }) => (model.id === "m" ? { error: { class: "auth", message: "no" }, status: 403 } : undefined),
    );
    expect((await router.ask()).error?.class).toBe("auth");
    expect((await router.ask({ model: "house/n" })).error).toBeUndefined();
    await router.ask();
    expect(router.asked).toEqual(["house/m k", "house/n k"]);
  });

  it("set while the program runs are used by the next call", async () => {
    const router = testRouter("{ }", () => undefined);
    const without = await router.ask({ model: "anthropic/claude-sonnet-5" });
    expect(without.error).toMatchObject({
      class: "auth",
      message: expect.stringContaining("There is no key for anthropic."),
    });
    router.stored.anthropic = { default: "stored-key" };
    expect((await router.ask({ model: "anthropic/claude-sonnet-5" })).error).toBeUndefined();
    expect(router.asked).toEqual(["anthropic/claude-sonnet-5 stored-key"]);
  });

  it("come from the environment only if none is configured or stored", async () => {
    const router = testRouter("{ }", () => undefined);
    router.env.GOOGLE_API_KEY = "env-key";
    await router.ask({ model: "google/gemini-3.5-flash" });
    router.stored.google = { default: "stored-key" };
    await router.ask({ model: "google/gemini-3.5-flash" });
    expect(router.asked.map((one) => one.split(" ")[1])).toEqual(["env-key", "stored-key"]);
  });

  it("are not needed for a server without configured keys", async () => {
    const router = testRouter(
      `{ providers: { local: { api: "openai-completions", baseUrl: "http://h" } } }`,
      () => undefined,
    );
    expect((await router.ask({ model: "local/any" })).error).toBeUndefined();
    expect(router.asked).toEqual(["local/any -"]);
  });

  it("of the profile that a person chose are the only ones used", async () => {
    const router = testRouter(ONE, () => ({ class: "rate", retryAfterMs: 1_000 }));
    await router.ask({ authProfile: { name: "house:work", only: true } });
    expect(router.asked).toEqual(["house/m key-two"]);
  });

  it("of a preferred profile are used first", async () => {
    const router = testRouter(ONE, (_, n) => (n === 1 ? { class: "rate" } : undefined));
    await router.ask({ authProfile: { name: "work", only: false } });
    expect(router.asked).toEqual(["house/m key-two", "house/m key-one"]);
  });

  it("of an unknown profile are ignored with a warning", async () => {
    const router = testRouter(ONE, () => undefined);
    await router.ask({ authProfile: { name: "gone", only: true } });
    expect(router.asked).toEqual(["house/m key-one"]);
    expect(router.logged.join()).toContain("unknown auth profile");
  });

  it("are refused without a call if they are subscription tokens of another program", async () => {
    const router = testRouter(`{ providers: { anthropic: { apiKey: "sk-ant-oat01-borrowed" } } }`, () => undefined);
    const { error } = await router.ask({ model: "anthropic/claude-sonnet-5" });
    expect(error).toMatchObject({ class: "auth" });
    expect(router.asked).toEqual([]);
    expect(JSON.stringify(error)).not.toContain("oat01");
  });
});

describe("fallbacks", () => {
  it("answer at once if every key is refused or limited", async () => {
    for (const kind of ["auth", "rate"] as const) {
      const router = testRouter(BOTH, ({ model }) => (model.provider === "house" ? { class: kind } : undefined));
      expect(await router.ask(WITH_SPARE)).toMatchObject({ provider: "spare", stopReason: "stop" });
      expect(router.asked).toEqual(["house/m key-one", "house/m key-two", "spare/s key-spare"]);
    }
  });

  it("are used after a transient error only when the loop has no try left", async () => {
    const router = testRouter(BOTH, ({ model }) => (model.provider === "house" ? { class: "transient" } : undefined));
    expect((await router.ask({ ...WITH_SPARE, tries: 1 })).error?.class).toBe("transient");
    expect((await router.ask({ ...WITH_SPARE, tries: 2 })).error?.class).toBe("transient");
    expect((await router.ask({ ...WITH_SPARE, tries: 3 })).provider).toBe("spare");
  });

  it("replace a model whose last try failed, until its cooldown ends", async () => {
    let down = true;
    const router = testRouter(BOTH, ({ model }) =>
      model.provider === "house" && down ? { class: "transient" } : undefined,
    );
    await router.ask({ ...WITH_SPARE, tries: 3 });
    expect((await router.ask(WITH_SPARE)).provider).toBe("spare");
    down = false;
    router.clock.advanceSync(60_000);
    expect((await router.ask(WITH_SPARE)).provider).toBe("house");
  });

  it("that refuse leave the resting model, which is tried last", async () => {
    let down = true;
    const router = testRouter(BOTH, ({ model }) =>
      model.provider === "spare" ? { class: "auth", message: "no" } : down ? { class: "transient" } : undefined,
    );
    await router.ask({ ...WITH_SPARE, tries: 3 });
    down = false;
    expect((await router.ask(WITH_SPARE)).provider).toBe("house");
    expect(router.asked.map((one) => one.split("/")[0])).toEqual(["house", "spare", "house"]);
  });

  it("are optional: a failed model without fallbacks is called again", async () => {
    const router = testRouter(ONE, (_, n) => (n === 1 ? { class: "transient" } : undefined));
    await router.ask({ tries: 3 });
    expect((await router.ask()).error).toBeUndefined();
  });

  it.each(["request", "overflow", "aborted"] as const)("are not used for %s", async (kind) => {
    const router = testRouter(BOTH, () => ({ class: kind }));
    expect((await router.ask({ ...WITH_SPARE, tries: 3 })).error?.class).toBe(kind);
    expect(router.asked).toHaveLength(1);
  });

  it("if they fail too, the call returns the error that a wait may fix", async () => {
    const router = testRouter(BOTH, ({ model }) =>
      model.provider === "house"
        ? { class: "rate", retryAfterMs: 3_000, message: "slow down" }
        : { class: "auth", message: "bad key" },
    );
    const { error } = await router.ask(WITH_SPARE);
    expect(error).toMatchObject({ class: "rate", retryAfterMs: 3_000 });
    expect(error?.message).toContain("slow down");
    expect(error?.message).toContain("bad key");
  });

  it("use the nearest thinking level they support", async () => {
    const router = testRouter(BOTH, ({ model }) => (model.provider === "house" ? { class: "auth" } : undefined));
    expect((await router.ask({ ...WITH_SPARE, thinking: "high" })).error).toBeUndefined();
    expect(router.calls.map(({ thinking }) => thinking)).toEqual(["high", "high", "off"]);
  });
});

describe("thinking", () => {
  it.each([
    ["house/m", "xhigh", "high"],
    ["house/m", "medium", "low"],
    ["house/m", "minimal", "off"],
    ["house/n", "high", "off"],
    ["house/m", undefined, undefined],
  ])("of %s at the level %s is lowered to %s", async (model, thinking, used) => {
    const router = testRouter(ONE, () => undefined);
    expect((await router.ask({ model, thinking })).error).toBeUndefined();
    expect(router.calls.map((call) => call.thinking)).toEqual([used]);
  });

  it("uses the lowest level of a model in the catalogue that cannot turn thinking off", async () => {
    const router = testRouter(`{ providers: { openai: { apiKey: "k" } } }`, () => undefined);
    await router.ask({ model: "openai/gpt-5", thinking: "off" });
    expect(router.calls.map(({ thinking }) => thinking)).toEqual(["minimal"]);
  });
});

describe("a model", () => {
  it("with an unknown name is an error that names the command to list models", async () => {
    const router = testRouter(ONE, () => undefined);
    for (const model of ["house/other", "nowhere/m", "nonsense"]) {
      expect((await router.ask({ model })).error).toMatchObject({
        class: "request",
        message: expect.stringContaining("rookery models"),
      });
    }
  });

  it("is detected if none is configured", async () => {
    expect(await testRouter("{ }", () => undefined).ask({ model: "auto" })).toMatchObject({ provider: "offline" });
    const router = testRouter("{ }", () => undefined, "ollama/llama");
    expect(await router.ask({ model: "auto" })).toMatchObject({ provider: "ollama", model: "llama" });
    expect(router.calls[0]?.model.contextWindow).toBe(4_096);
  });

  it("of a known provider has the catalogue's prices, unless the configuration has its own", async () => {
    const text = `{ providers: { anthropic: { apiKey: "k", models: [{ id: "claude-sonnet-5", maxTokens: 1000 }] } } }`;
    const router = testRouter(text, () => undefined);
    await router.ask({ model: "anthropic/claude-sonnet-5" });
    expect(router.calls[0]?.model).toMatchObject({ maxTokens: 1_000, contextWindow: 1_000_000, cost: { output: 10 } });
  });
});

describe("the events of a second try", () => {
  it("begin with restart, which discards the events of the first try", async () => {
    const router = testRouter(ONE, ({ onEvent }, n) => {
      onEvent({ type: "text", delta: n === 1 ? "half" : "whole" });
      return n === 1 ? { class: "rate" } : undefined;
    });
    await router.ask();
    expect(router.events).toEqual([
      { type: "text", delta: "half" },
      { type: "restart" },
      { type: "text", delta: "whole" },
    ]);
  });

  it("begin without restart if the first try sent none, and with it if the loop retries", async () => {
    const router = testRouter(ONE, () => undefined);
    await router.ask();
    expect(router.events).toEqual([]);
    await router.ask({ tries: 2 });
    expect(router.events).toEqual([{ type: "restart" }]);
  });
});

describe("calls of one provider", () => {
  it("are limited and ordered, and a waiting call can be aborted", async () => {
    const gates: (() => void)[] = [];
    const router = testRouter(
      `{ providers: { house: { api: "openai-completions", baseUrl: "http://h", maxConcurrent: 2, models: [{ id: "m" }] } } }`,
      () => new Promise((resolve) => gates.push(() => resolve(undefined))),
    );
    const stop = new AbortController();
    const calls = [router.ask(), router.ask(), router.ask({}, stop.signal), router.ask()];
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    await settle();
    expect(router.asked).toHaveLength(2);
    stop.abort();
    expect((await calls[2])?.error?.class).toBe("aborted");
    gates[0]?.();
    await calls[0];
    await settle();
    expect(router.asked).toHaveLength(3);
    gates[1]?.();
    gates[2]?.();
    expect((await Promise.all(calls)).map(({ stopReason }) => stopReason)).toEqual(["stop", "stop", "aborted", "stop"]);
  });
});

describe("secrets", () => {
  it("never appear in logs or answers", async () => {
    const router = testRouter(BOTH, ({ key }) => ({ class: "auth", message: `refused`, ...(key ? {} : {}) }));
    const result = await router.ask(WITH_SPARE);
    const everything = JSON.stringify([result, router.logged, router.events]);
    for (const key of ["key-one", "key-two", "key-spare"]) expect(everything).not.toContain(key);
  });
});

describe("the price of a call", () => {
  const cost = (input: number, output: number) => `cost: { input: ${input}, output: ${output} }`;
  const models = `{ providers: { house: { api: "openai-completions", baseUrl: "http://127.0.0.1:1", models: [
    { id: "m", thinking: ["off", "low"], contextWindow: 8000, maxTokens: 1000, ${cost(1, 9)} },
    { id: "n", contextWindow: 9000, maxTokens: 500, ${cost(2, 4)} },
  ] } } }`;

  it("is the highest of all models that may answer", async () => {
    const router = testRouter(models, () => undefined);
    expect(await router.price({ model: "house/m" })).toMatchObject({
      maxTokens: 1_000,
      leastTokens: 256,
      cost: { output: 9 },
    });
    expect(await router.price({ model: "house/n", fallbacks: ["house/m"], thinking: "low" })).toEqual({
      contextWindow: 9_000,
      maxTokens: 1_000,
      leastTokens: 4_096,
      cost: { input: 2, output: 9, cacheRead: 0, cacheWrite: 0 },
    });
    expect(await router.price({ model: "house/n", thinking: "low" })).toMatchObject({ leastTokens: 256 });
    expect(await router.price({ model: "house/unknown" })).toBeUndefined();
    expect(await router.price({ model: "auto" })).toMatchObject({ cost: { input: 0, output: 0 } });
  });

  it("is bounded by the limit of the answer", async () => {
    const router = testRouter(models, () => undefined);
    await router.ask({ maxTokens: 77 });
    await router.ask({ maxTokens: 5_000 });
    await router.ask({});
    expect(router.calls.map(({ model }) => model.maxTokens)).toEqual([77, 1_000, 1_000]);
  });

  it("includes the usage of every try", async () => {
    const usage = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 6 };
    const broke = { error: { class: "transient" as const, message: "broke" }, usage };
    const both = testRouter(models, (_, n) => (n === 1 ? broke : { usage }));
    expect(await both.ask({ fallbacks: ["house/n"], tries: 3 })).toMatchObject({ usage, alsoUsed: [usage] });
    const none = testRouter(models, () => ({ ...broke, usage: { ...usage } }));
    expect((await none.ask({ fallbacks: ["house/n"], tries: 3 })).alsoUsed).toHaveLength(1);
    expect((await both.ask({ tries: 1 })).alsoUsed).toBeUndefined();
  });

  it("includes the usage of every key of every model, also if none of them answers", async () => {
    const usage = (input: number) => ({ input, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: input + 1 });
    const limited = { error: { class: "rate" as const, message: "limited" }, status: 429 };
    const refused = { error: { class: "auth" as const, message: "refused" }, status: 403 };
    const none = testRouter(ONE, (_, n) => ({ ...(n < 3 ? refused : limited), usage: usage(n) }));
    const result = await none.ask({ fallbacks: ["house/n"], tries: 3 });
    const all = [result.usage, ...(result.alsoUsed ?? [])].map((one) => one?.input);
    expect(all.toSorted()).toEqual([1, 2, 3, 4]);
    const first = testRouter(ONE, (_, n) => ({
      ...(n < 3 ? refused : limited),
      usage: n === 1 ? usage(n) : undefined,
    }));
    expect((await first.ask({ fallbacks: ["house/n"], tries: 3 })).alsoUsed).toEqual([usage(1)]);
    const last = testRouter(ONE, (_, n) => ({
      ...(n < 4 ? refused : undefined),
      usage: n === 2 ? undefined : usage(n),
    }));
    expect(await last.ask({ fallbacks: ["house/n"], tries: 3 })).toMatchObject({
      usage: usage(4),
      alsoUsed: [usage(1), usage(3)],
    });
  });
});
