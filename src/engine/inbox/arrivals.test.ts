/** What a message does that arrives while its agent is busy or waits for a person, and which settings apply to it: tables. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { configDefaults } from "../../config/config-schema.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Message, MessageBody, NewMessage } from "../../core/message/message.ts";
import { type QueueMode, type QueueSettings, queueModeSchema } from "../../core/message/queue.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Change, Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { accept, recipientOf, staleTraceKey } from "./accept.ts";
import { choose, onArrival, steerableNow } from "./decide.ts";
import { queueSettingsFor, resolveQueueSettings } from "./queue-settings.ts";
import { isAbortText, parseDuration, parseQueueDirective, parseResetCommand, withoutMention } from "./user-input.ts";
import { whileSuspended } from "./while-suspended.ts";

const runId = "r" as RunId;
const [ANN, BOB] = ["ann", "bob"] as unknown as [PersonId, PersonId];
const message = (body: object, more: object = {}): Message =>
  ({ seq: 5, state: "waiting", acceptedAt: 1, body, ...more }) as unknown as Message;
const user = (more: object = {}) => message({ kind: "user", text: "hi" }, more);
const delivery = { channel: "test", to: "1" };

type BusyAgent = Parameters<typeof onArrival>[1];

describe("during a run", () => {
  const busy = (more: Partial<BusyAgent> = {}): BusyAgent => ({
    ...{ streaming: true, compacting: false, route: '{"channel":"test","to":"1"}', person: ANN, own: ANN, lastSeq: 4 },
    ...more,
  });
  const arrives = (one: Message, mode: QueueMode, run?: Partial<BusyAgent>) =>
    onArrival({ message: one, settings: { mode, debounceMs: 0, cap: 1, dropPolicy: "old" } }, busy(run));
  const byMode = (one: Message, run?: Partial<BusyAgent>) =>
    Object.fromEntries(
      queueModeSchema.options
        .map((mode) => [mode, arrives(one, mode, run)] as const)
        .filter(([, act]) => act !== "wait"),
    );
  const here = (more: object = {}) => user({ delivery, ...more });
  test.each<[string, Message, Partial<BusyAgent> | undefined, object]>([
    [
      "a message of its route and person",
      here(),
      undefined,
      { steer: "steer", "steer-backlog": "steer", interrupt: "end-interrupt" },
    ],
    [
      "one with its thread in another form",
      here({ delivery: { ...delivery, threadId: 3 } }),
      { route: '{"channel":"test","to":"1","threadId":"3"}' },
      { steer: "steer", "steer-backlog": "steer", interrupt: "end-interrupt" },
    ],
    ["one while it only works", here(), { streaming: false }, { steer: "steer", interrupt: "end-interrupt" }],
    ["one while it compacts", here(), { compacting: true }, { steer: "steer", interrupt: "end-interrupt" }],
    ["one for another route", user(), undefined, { interrupt: "end-interrupt" }],
    ["one of another person", here({ behalf: { person: BOB } }), undefined, { interrupt: "end-interrupt" }],
    ["one that names no one, in a run for another", here(), { person: BOB }, { interrupt: "end-interrupt" }],
    ["one with a promised run", here({ asRun: runId }), undefined, { interrupt: "end-interrupt" }],
    [
      "one with wishes",
      message({ kind: "user", text: "hi", wishes: { model: "m" } }, { delivery }),
      undefined,
      { interrupt: "end-interrupt" },
    ],
    ["one that says nothing", message({ kind: "user", text: " " }, { delivery }), undefined, {}],
    [
      "a report",
      message({ kind: "report", text: "x" }, { delivery }),
      undefined,
      { steer: "steer", "steer-backlog": "steer" },
    ],
    ["a silent report", message({ kind: "report", text: "x", silent: true }, { delivery }), undefined, {}],
    [
      "a trigger",
      message({ kind: "trigger", text: "x", trigger: { type: "cron", id: "j" } }, { delivery }),
      undefined,
      {},
    ],
    ["a late yes", message({ kind: "permission", approved: true, text: "t" }, { delivery }), undefined, {}],
    [
      "a note of another agent",
      message({ kind: "system", text: "x" }, { delivery }),
      undefined,
      { steer: "steer", "steer-backlog": "steer", interrupt: "end-interrupt" },
    ],
    ["a compaction", message({ kind: "compact" }), undefined, {}],
    ["a daily reset", message({ kind: "reset", by: "daily" }), undefined, {}],
  ])("%s", (_title, one, run, acts) => {
    expect(byMode(one, run)).toEqual(acts);
  });

  test.each<[string, object, string]>([
    ["a later stop", { kind: "stop" }, "end-stop"],
    ["a reset of a person", { kind: "reset", by: "person" }, "end-reset"],
    ["a question about children", { kind: "subagents", command: "list" }, "answer"],
    ["a command that only asks", { kind: "command", name: "status", text: "" }, "answer"],
    ["a command that changes settings", { kind: "command", name: "think", text: "high", inTurn: true }, "wait"],
    ["a new rule", { kind: "setting", rules: { remove: "x" } }, "answer"],
    ["another setting", { kind: "setting", queue: { mode: "steer" } }, "wait"],
  ])("in every mode: %s", (_title, body, act) => {
    for (const mode of queueModeSchema.options) expect(arrives(message(body), mode)).toBe(act);
  });

  test("a stop that came with the messages it works on is over", () => {
    expect(arrives(message({ kind: "stop" }, { seq: 4 }), "queue")).toBe("wait");
    expect(arrives(message({ kind: "stop" }, { seq: 5 }), "queue")).toBe("end-stop");
  });
});

test("messages enter a run in their order, up to the first of its route that must wait", () => {
  const all = [5, 6, 7, 8].map((seq) => user({ seq, delivery: seq === 6 ? { channel: "other", to: "2" } : delivery }));
  const route = '{"channel":"test","to":"1"}';
  const enter = (...steerable: number[]) => steerableNow(all, route, new Set(steerable)).map(({ seq }) => seq);
  expect(enter(5, 6, 7, 8)).toEqual([5, 7, 8]);
  expect(enter(5, 8)).toEqual([5]);
  expect(enter(7, 8)).toEqual([]);
  expect(steerableNow([message({ kind: "stop" }, { delivery })], route, new Set([5]))).toEqual([]);
});

test("at rest a late yes is told by a run, and any other answer is only recorded", () => {
  const at = (body: object) => {
    const one = message({ kind: "permission", runId, callId: "c", ...body });
    const settings = { mode: "queue", debounceMs: 0, cap: 5, dropPolicy: "old" } as const;
    return choose({ now: 9, waiting: [{ message: one, settings }], urgent: [], dedupe: "none" }).act;
  };
  expect([at({ approved: true, text: "late" }), at({ approved: false, text: "late" }), at({ approved: true })]).toEqual(
    ["run", "record", "record"],
  );
});

describe("while its run waits for a person", () => {
  const decision = (of: string = runId, more: object = {}) =>
    message({ kind: "permission", runId: of, callId: "c", approved: true, ...more });
  const call = { callId: "c", name: "exec", arguments: {}, replay: "never", state: "asked", approval: "kfmz" } as const;
  const run = { id: runId, body: { lane: "main" as const, seqs: [1], calls: [call], iterations: 1, deliveries: 0 } };
  const act = (...waiting: Message[]) => whileSuspended(waiting, run, 0);
  test.each<[string, Message, string | undefined]>([
    ["a message without words", message({ kind: "user", text: "" }), "it says nothing"],
    ["an answer about another run", decision("q"), "its run no longer waits for it"],
    ["a restoration", message({ kind: "restore" }), "context rebuilt"],
    ["a setting", message({ kind: "setting" }), "settings changed"],
    ["a description", message({ kind: "describe" }), "description updated"],
    ["a question about children", message({ kind: "subagents", command: "" }), "answered about children"],
    ["a command", message({ kind: "command", name: "status", text: "" }), "answered"],
    ["a message", user(), undefined],
    ["a late yes about another run", decision("q", { text: "late" }), undefined],
    ["a report", message({ kind: "report", text: "x" }), undefined],
    ["a stop", message({ kind: "stop" }), undefined],
    ["a reset", message({ kind: "reset", by: "daily" }), undefined],
  ])("%s", (_title, one, reason) => {
    expect(act(one)).toEqual(
      reason === undefined ? { act: "resume", decisions: [], waitEnds: true } : { act: "settle", message: one, reason },
    );
  });
  test("its own decisions wake it, with what else needs its turn", () => {
    const [yes, words, silent] = [decision(), user(), message({ kind: "system", text: "x", silent: true })];
    expect(act()).toEqual({ act: "wait" });
    expect(act(silent)).toEqual({ act: "wait" });
    expect(act(yes)).toEqual({ act: "resume", decisions: [yes], waitEnds: false });
    expect(act(yes, silent)).toEqual({ act: "resume", decisions: [yes], waitEnds: false });
    expect(act(words, yes)).toEqual({ act: "resume", decisions: [yes], waitEnds: true });
    const setting = message({ kind: "setting" });
    expect(act(yes, words, setting)).toEqual({ act: "settle", message: setting, reason: "settings changed" });
  });
});

describe("the settings of a message, field by field", () => {
  const level = (n: number): Required<QueueSettings> => ({
    ...{ mode: queueModeSchema.options[n] as QueueMode, debounceMs: n * 10, cap: n + 1 },
    dropPolicy: (["old", "new", "summarize"] as const)[n % 3] as "old",
  });
  /** The strongest first. */
  const sources = ["message", "agent", "byDefault", "channel", "config"] as const;
  type Source = (typeof sources)[number];
  const resolve = (given: Partial<Record<Source, Partial<QueueSettings>>>) => {
    const { dropPolicy: channelDrop, ...channel } = given.channel ?? {};
    const { dropPolicy: configDrop, ...config } = given.config ?? {};
    const { mode, debounceMs, cap, dropPolicy } = given.agent ?? {};
    return resolveQueueSettings({
      cfg: { queue: { ...config, drop: configDrop, byChannel: { test: { ...channel, drop: channelDrop } } } as never },
      channel: " Test ",
      sessionEntry: { queueMode: mode, queueDebounceMs: debounceMs, queueCap: cap, queueDrop: dropPolicy },
      inlineOptions: given.message,
      byDefault: given.byDefault,
    });
  };
  const fields = ["mode", "debounceMs", "cap", "dropPolicy"] as const;
  for (const field of fields) {
    test(`${field}: each source is used if no stronger one says it`, () => {
      for (const [n, source] of sources.entries()) {
        const weaker = Object.fromEntries(sources.slice(n).map((one, m) => [one, { [field]: level(n + m)[field] }]));
        expect([source, resolve(weaker)[field]]).toEqual([source, level(n)[field]]);
        // The other fields of a stronger source say nothing about this one.
        const others = Object.fromEntries(sources.slice(0, n).map((one) => [one, { ...level(5), [field]: undefined }]));
        expect(resolve({ ...weaker, ...others })[field]).toEqual(level(n)[field]);
      }
    });
  }
  test("a mode of the message itself comes before all", () => {
    const cfg = { queue: { mode: "collect", byChannel: {} } as never };
    expect(resolveQueueSettings({ cfg, inlineMode: "steer", inlineOptions: { mode: "queue" } }).mode).toBe("steer");
  });
  test("without any the defaults count, and what is no number is none", () => {
    expect(resolve({})).toEqual({ mode: "collect", debounceMs: 1_000, cap: 20, dropPolicy: "summarize" });
    expect(resolve({ message: { debounceMs: Number.NaN, cap: Number.POSITIVE_INFINITY } })).toMatchObject({
      debounceMs: 1_000,
      cap: 20,
    });
    expect(resolve({ message: { debounceMs: -1, cap: 0 } })).toMatchObject({ debounceMs: 0, cap: 1 });
    expect(resolve({ message: { debounceMs: 1.9, cap: 2.9 } })).toMatchObject({ debounceMs: 1, cap: 2 });
  });
  test("come from the channel, and from the words of a person only", () => {
    const cfg = {
      queue: { ...configDefaults.queue, mode: "collect", debounceMs: 7, cap: 3, byChannel: { test: { cap: 9 } } },
    } as const;
    const settingsFor = (one: Message) => queueSettingsFor(cfg, one, { updatedAt: 0 } as never);
    expect(settingsFor(user())).toMatchObject({ mode: "collect", cap: 3 });
    expect(settingsFor(user({ delivery })).cap).toBe(9);
    expect(settingsFor(user({ delivery, source: { connector: "other" } })).cap).toBe(3);
    const said = message({ kind: "user", text: "x", queue: { cap: 1 }, queueDefault: { mode: "steer" } });
    expect(settingsFor(said)).toMatchObject({ mode: "steer", cap: 1 });
    const other = message({ kind: "system", text: "x", queue: { cap: 1 }, queueDefault: { mode: "steer" } });
    expect(settingsFor(other)).toMatchObject({ mode: "collect", cap: 3 });
  });
});

describe("words of a person", () => {
  test("that stop, in any case, and not hidden in a long text", () => {
    for (const word of ["stop", " ESC ", "/Stop"]) expect(isAbortText(word)).toBe(true);
    for (const word of ["stop now", "", `stop${" ".repeat(5)}.`]) expect(isAbortText(word)).toBe(false);
  });
  test.each<[string, number | undefined]>([
    ["5", 5],
    ["5ms", 5],
    ["1.5s", 1_500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["1D", 86_400_000],
    ["0.4", 0],
    ["", undefined],
    ["s", undefined],
    ["1 s", undefined],
    ["-1s", undefined],
  ])("the time %j is %s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
  test.each<[string, object | undefined]>([
    ["hello", undefined],
    ["/queue", { rest: "", settings: {}, reset: false, invalid: [], leads: true, words: "" }],
    ["/queue: steer now", { rest: "now", settings: { mode: "steer" }, leads: true, words: "steer now" }],
    ["do it /queue collect cap:2.9", { rest: "do it", settings: { mode: "collect", cap: 2 }, leads: false }],
    ["/queue cap:0 drop:x debounce:y", { invalid: ["cap:0", "drop:x", "debounce:y"], settings: {} }],
    ["/queue cap:1", { settings: { cap: 1 }, invalid: [] }],
    ["/queue drop=oldest debounce=2s", { settings: { dropPolicy: "old", debounceMs: 2_000 } }],
    ["/queue clear", { reset: true }],
    ["/queue default", { reset: true }],
  ])("the directive in %j", (text, directive) => {
    const read = parseQueueDirective(text);
    if (directive === undefined) expect(read).toBeUndefined();
    else expect(read).toMatchObject(directive);
  });
  test.each<[string, object | undefined]>([
    ["/new", { trigger: "/new", text: undefined }],
    ["@rook, /NEW Hello There", { trigger: "/new", text: "Hello There" }],
    ["/new@rook hi", { trigger: "/new", text: "hi" }],
    ["/new@other hi", undefined],
    ["/newer", undefined],
    [`/new${"x".repeat(1_000)}`, undefined],
  ])("a new session by %j", (text, reset) => {
    expect(parseResetCommand(text, ["", "/new"], ["@rook", " "])).toEqual(reset);
  });
  test("after a name of the agent, and no other one", () => {
    expect(withoutMention("@Rook: hi", ["rook"])).toBe("hi");
    expect(withoutMention("@rook hi", [" @ROOK "])).toBe("hi");
    expect(withoutMention("@rooks hi", ["rook"])).toBe("@rooks hi");
    expect(withoutMention("rook hi", ["rook"])).toBe("rook hi");
    expect(withoutMention("@ hi", [""])).toBe("@ hi");
    const long = `@${"r".repeat(1_000)}`;
    expect(withoutMention(`${long} hi`, [long])).toBe(`${long} hi`);
  });
});

describe("accepting", () => {
  const body: MessageBody = { kind: "user", text: "hi" };
  const world = (store: Store = openMemoryStore()) => {
    const clock = virtualClock();
    const ids = seededIds("accept");
    const seed = seedAgent(ids, { type: "user", connector: "test", userId: "7", channelId: "7" }, clock.now());
    const take = (more: Partial<NewMessage> = {}, rest: object = {}) =>
      accept(
        { store, clock, ids },
        {
          ...{ to: recipientOf(seed), replayHorizonMs: 1_000 },
          message: { body, acceptedAt: clock.now(), ...more },
          ...rest,
        },
      );
    return { store, clock, take };
  };
  /** A store that answers the commit of a message so, and the ops it was asked to commit. */
  const answering = (answer: object) => {
    const ops: Op[] = [];
    const commit = async (change: Change) => {
      ops.push(...change.ops);
      return answer;
    };
    return { ...world({ commit } as never), ops };
  };
  const stored = (more: object = {}) => ({
    ok: true,
    results: [{ op: "message.post", agentId: "a", seq: 3, ...more }],
  });
  test("the first message waits alone, the second does not", async () => {
    const { take, clock } = world();
    const first = await take();
    expect(first).toMatchObject({
      status: "accepted",
      acceptedAt: clock.now(),
      waits: { seq: 1, state: "waiting", body },
    });
    expect(await take()).toMatchObject({ status: "accepted", seq: 2 });
    expect((await take()) as { waits?: unknown }).not.toHaveProperty("waits", expect.objectContaining({ seq: 3 }));
  });
  test("the same key is the same message; a key of the caller comes before that of the message", async () => {
    const { take } = world();
    expect(await take({ key: "k" })).toMatchObject({ status: "accepted" });
    expect(await take({ key: "k" })).toMatchObject({ status: "duplicate" });
    expect(await take({ key: "k" }, { key: "other" })).toMatchObject({ status: "accepted" });
    expect(await take({}, { key: "other" })).toMatchObject({ status: "duplicate" });
  });
  test("older than its channel may send it again is refused, and leaves a trace", async () => {
    const { take, clock, store } = world();
    const source = (sentAt: number, messageId: string) => ({ source: { connector: "test", messageId, sentAt } });
    expect(await take(source(clock.now() - 1_000, "s1"))).toMatchObject({ status: "accepted" });
    expect(await take(source(clock.now() - 1_001, "s2"))).toEqual({ status: "stale" });
    const key = staleTraceKey('["test","","","s2",0]');
    expect(key).toMatch(/^stale:\d{1,3}$/);
    expect(JSON.parse((await store.fact(key)) ?? "")).toMatchObject({
      source: { messageId: "s2" },
      refusedAt: clock.now(),
    });
    expect(staleTraceKey("")).toBe("stale:0");
    expect(staleTraceKey("ab")).toBe(`stale:${(97 * 31 + 98) % 1_000}`);
  });
  test("of a wrong form, too long, or to no one, stores nothing", async () => {
    const { take, store } = world();
    await expect(take({ key: "" })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(take({}, { maxCharacters: 1 })).rejects.toMatchObject({ code: "too_large" });
    const gone = { to: { agentId: "g".repeat(24) as AgentId } };
    await expect(take({}, gone)).rejects.toMatchObject({ code: "not_found" });
    await expect(take({}, { also: [{ op: "fact.put", key: "x", value: "1", expect: "2" }] })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await store.fact("x")).toBeUndefined();
  });
  test("commits what comes before and after it", async () => {
    const { take, store } = world();
    const fact = (key: string) => ({ op: "fact.put", key, value: "1" }) as const;
    expect(await take({}, { first: [fact("f1"), fact("f2")], also: [fact("a")] })).toMatchObject({
      status: "accepted",
    });
    expect(await Promise.all(["f1", "f2", "a"].map((key) => store.fact(key)))).toEqual(["1", "1", "1"]);
  });

  test.each<[string, object, object, string | undefined, boolean]>([
    ["by its channel's id", { source: { connector: "c", messageId: "1" } }, {}, '["c","","","1",0]', false],
    ["by the caller's key", {}, { key: "k" }, "k", false],
    ["by nothing", {}, {}, undefined, false],
    ["by its request alone", {}, { request: { by: "content", key: "d", keepUntil: 9 }, key: "k" }, undefined, true],
    ["by its request's key", {}, { request: { by: "key", key: "r", keepUntil: 9 }, key: "k" }, undefined, true],
  ])("is recognised again %s, for as long as its channel may repeat it", async (_, more, rest, key, isRequest) => {
    const { take, clock, ops } = answering(stored());
    await take(more, { ...rest, claimFor: 4 });
    const { request } = rest as { request?: { by: string; key: string } };
    expect(ops).toMatchObject([{ op: "message.post", claimFor: 4 }]);
    const [post] = ops as [Extract<Op, { op: "message.post" }>];
    expect(post.dedupe).toEqual(key === undefined ? undefined : { key, keepUntil: clock.now() + 1_000 });
    expect(post.request).toEqual(isRequest ? request : undefined);
    expect(post.message.key).toBe(request?.by === "key" ? "r" : (rest as { key?: string }).key);
  });

  test.each<[string, object, object]>([
    ["conflict", { ok: false, refused: "conflict", detail: "d" }, { code: "conflict" }],
    ["cycle", { ok: false, refused: "cycle", detail: "d" }, { code: "wait_cycle" }],
    ["missing", { ok: false, refused: "missing", detail: "d" }, { code: "not_found" }],
    ["no answer about the message", { ok: true, results: [undefined] }, { code: "invariant" }],
  ])("that the store answers with %s is an error", async (_, answer, error) => {
    await expect(answering(answer).take()).rejects.toMatchObject(error);
  });

  test.each<[string, object, object]>([
    ["alone", { alone: true }, { status: "accepted", waits: { seq: 3, agentId: "a", state: "waiting", body } }],
    ["behind others", { alone: false }, { status: "accepted", waits: false }],
    ["a second time", { alone: true, duplicate: true }, { status: "duplicate", seq: 3 }],
  ])("a message that is stored %s says so", async (_, more, expected) => {
    const result = await answering(stored(more)).take({ behalf: { person: ANN } as never });
    expect(result).toMatchObject(expected);
    if ("waits" in result && result.waits) expect(result.waits).toMatchObject({ behalf: { person: ANN } });
    expect("waits" in result).toBe((expected as { status: string }).status === "accepted");
  });

  test("a refused old message without an id leaves a trace too, each its own", async () => {
    const { take, clock, store } = world();
    const source = { connector: "test", sentAt: clock.now() - 1_001 };
    await take({ source });
    await take({ source });
    const facts = await Promise.all(Array.from({ length: 1_000 }, (_, n) => store.fact(`stale:${n}`)));
    expect(facts.filter((fact) => fact !== undefined)).toHaveLength(2);
  });
});
