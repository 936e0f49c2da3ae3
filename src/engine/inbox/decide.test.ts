import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import type { MessageBody } from "../../core/message/message.ts";
import { type QueueMode, type QueueSettings, queueModeSchema } from "../../core/message/queue.ts";
import type { PersonId } from "../../core/people/person.ts";
import { buildCollectPrompt, buildQueueSummaryPrompt, COLLECT_TITLE, summaryLine } from "./collect-prompt.ts";
import { onArrival, routeKey, steerableNow, type Waiting } from "./decide.ts";
import { agentId, defaults, HOME, rest, type Said, said, seqs } from "./waiting.test-kit.ts";

describe("an agent that several people write to", () => {
  const own = "ann" as PersonId;
  const four = [
    said({ seq: 1, for: "ann" }),
    said({ seq: 2 }),
    said({ seq: 3, for: "bob" }),
    said({ seq: 4, for: "ann" }),
  ];

  test("collects messages of one person, in order; one that names no one is of the agent's own person", () => {
    expect(seqs(rest(four, { own, busyUntil: 2_000 }))).toEqual([1, 2]);
    expect(seqs(rest(four.slice(2), { own, busyUntil: 2_000 }))).toEqual([3]);
  });

  test("drops what is above the cap for each person alone, and tells it only in a run of that person", () => {
    const settings = { cap: 2, mode: "queue", dropPolicy: "summarize" } as const;
    const many = [1, 2, 3, 4, 5, 6, 7].map((seq) => said({ seq, settings, for: seq % 2 ? "ann" : "bob" }));
    const choice = rest(many, { own });
    if (choice.act !== "run") throw new TypeError(choice.act);
    expect(seqs(choice)).toEqual([4]);
    expect(choice.dropped.map(({ message }) => message.seq)).toEqual([2]);
    expect(choice.summarize.map(({ seq }) => seq)).toEqual([2]);
    const next = rest(
      many.filter(({ message }) => ![2, 4].includes(message.seq)),
      { own },
    );
    if (next.act !== "run") throw new TypeError(next.act);
    expect([seqs(next), next.summarize.map(({ seq }) => seq)]).toEqual([[5], [1, 3]]);
  });

  test.each(["prompt", "message-id"] as const)("takes the same words of two people for two messages (%s)", (dedupe) => {
    const yes = (seq: number, person: string) => {
      const one = said({ seq, for: person, mode: "queue", body: { kind: "user", text: "yes" }, id: dedupe });
      return dedupe === "prompt" ? { ...one, message: { ...one.message, source: undefined } } : one;
    };
    const choice = rest([yes(1, "ann"), yes(2, "bob"), yes(3, "ann")], { own, dedupe });
    expect(choice.act === "run" && choice.dropped.map(({ message }) => message.seq)).toEqual([3]);
  });

  test.each(["steer", "steer-backlog"] as const)("steers only messages of the run's person into it (%s)", (mode) => {
    const run = { streaming: true, compacting: false, route: routeKey(HOME), lastSeq: 1, own };
    const arrival = (person: string | undefined, runs: string) =>
      onArrival(said({ seq: 2, mode, for: person }), { ...run, person: runs as PersonId });
    expect([
      arrival("ann", "ann"),
      arrival(undefined, "ann"),
      arrival("bob", "ann"),
      arrival(undefined, "bob"),
    ]).toEqual(["steer", "steer", "wait", "wait"]);
  });
});

describe("an agent at rest", () => {
  test("rests if no message waits", () => {
    expect(rest([])).toEqual({ act: "rest" });
  });

  test.each([
    ["settles a message with blank text", { kind: "user", text: " \n" }, undefined, "settle"],
    ["settles a message without text and files", { kind: "user", text: "", files: [] }, undefined, "settle"],
    [
      "runs a message with only a file",
      { kind: "user", text: "", files: [{ path: "/f", name: "f", mimeType: "x/y", size: 1 }] },
      undefined,
      "run",
    ],
    ["runs a message without text but with a promised run id", { kind: "user", text: "" }, "r", "run"],
  ] as const)("%s", (_, body, asRun, act) => {
    const one = said({ seq: 1, body: body as unknown as MessageBody, mode: "queue" });
    const message = { ...one.message, ...(asRun ? { asRun: asRun as never } : {}) };
    expect(rest([{ ...one, message }])).toMatchObject({ act });
  });

  test("neither collects nor steers an empty message", () => {
    const empty = said({ seq: 2, body: { kind: "user", text: "" } });
    expect(seqs(rest([said({ seq: 1 }), empty, said({ seq: 3 })], { busyUntil: 1_000_000 }))).toEqual([1, 3]);
    const active = { streaming: true, compacting: false, route: routeKey(HOME), lastSeq: 1 };
    expect(onArrival({ ...empty, settings: { ...defaults, mode: "steer" } }, active)).toBe("wait");
  });

  test("collects as many messages as fit into one prompt, and the rest into the next", () => {
    const report = (length: number): MessageBody => ({
      kind: "report",
      text: "x".repeat(length),
      childId: agentId,
      childRunId: "r" as never,
    });
    const waiting = Array.from({ length: 250 }, (_, n) => said({ seq: n + 1, body: report(600) }));
    const first = rest(waiting, { busyUntil: 1_000_000 });
    expect([first.act, seqs(first).length, seqs(first).at(-1)]).toEqual(["run", 166, 166]);
    expect(seqs(rest(waiting.slice(166), { busyUntil: 1_000_000 }))).toHaveLength(84);
    const large = [said({ seq: 1, body: report(200_000) }), said({ seq: 2, body: report(10) })];
    expect(seqs(rest(large, { busyUntil: 1_000_000 }))).toEqual([1]);
  });

  // Three messages of one route came during a run, and the debounce time is over.
  test.each([
    ["steer", [1], false],
    ["followup", [1], false],
    ["collect", [1, 2, 3], true],
    ["steer-backlog", [1], false],
    ["queue", [1], false],
    ["interrupt", [1], false],
  ] as const)("in mode %s takes the messages %j", (mode, taken, collected) => {
    const choice = rest([said({ seq: 1, mode }), said({ seq: 2, mode }), said({ seq: 3, mode })], { busyUntil: 500 });
    expect(choice).toMatchObject({ act: "run", collected });
    expect(seqs(choice)).toEqual(taken);
  });

  // The same, but the last message has just arrived.
  test.each([
    ["steer", "run"],
    ["followup", "wait"],
    ["collect", "wait"],
    ["steer-backlog", "wait"],
    ["queue", "run"],
    ["interrupt", "run"],
  ] as const)("in mode %s, during the debounce time, decides to %s", (mode, act) => {
    const waiting = [said({ seq: 1, mode, at: 100 }), said({ seq: 2, mode, at: 900 })];
    const choice = rest(waiting, { now: 1_000, busyUntil: 950 });
    expect(choice.act).toBe(act);
    if (choice.act === "wait") expect(choice.until).toBe(1_900);
  });

  test.each(queueModeSchema.options)("in mode %s runs a message at once if no run was active", (mode) => {
    const choice = rest([said({ seq: 1, mode, at: 999 })], { now: 1_000, busyUntil: 500 });
    expect(choice).toMatchObject({ act: "run", collected: false });
  });

  test("waits for at most ten debounce times, even if messages keep coming", () => {
    const waiting = [said({ seq: 1, at: 0 }), said({ seq: 2, at: 9_900 })];
    expect(rest(waiting, { now: 9_950, busyUntil: 9_950 })).toEqual({ act: "wait", until: 10_000 });
    expect(rest(waiting, { now: 10_000, busyUntil: 9_950 }).act).toBe("run");
  });

  test("collects each route into a separate prompt; string and numeric thread ids are equal", () => {
    const thread = (threadId: string | number): DeliveryContext => ({ ...HOME, threadId });
    const waiting = [
      said({ seq: 1, to: thread(7) }),
      said({ seq: 2, to: thread("x") }),
      said({ seq: 3, to: thread("7") }),
      said({ seq: 4 }),
    ];
    expect(seqs(rest(waiting, { busyUntil: 500 }))).toEqual([1, 3]);
    expect(seqs(rest(waiting.slice(1, 2).concat(waiting.slice(3)), { busyUntil: 500 }))).toEqual([2]);
  });

  test("runs an interrupting message first; the earlier messages keep their order", () => {
    const waiting = [
      said({ seq: 1, mode: "queue" }),
      said({ seq: 2, mode: "queue" }),
      said({ seq: 3, mode: "interrupt" }),
    ];
    expect(seqs(rest(waiting))).toEqual([3]);
    expect(seqs(rest(waiting.slice(0, 2)))).toEqual([1]);
  });

  test("handles urgent messages first: a stop, then a reset", () => {
    const reset = said({ seq: 2, body: { kind: "reset", by: "person" } });
    const stop = said({ seq: 3, body: { kind: "stop" } });
    expect(rest([said({ seq: 1 }), reset, stop]).act).toBe("stop");
    expect(rest([said({ seq: 1 }), reset]).act).toBe("reset");
  });

  test("records consecutive silent messages together", () => {
    const silent = (seq: number) => said({ seq, body: { kind: "system", text: "psst", silent: true } });
    expect(rest([silent(1), silent(2), said({ seq: 3 }), silent(4)])).toMatchObject({
      act: "record",
      messages: [{ seq: 1 }, { seq: 2 }],
    });
  });

  test("runs a message with overrides alone, before or after collected messages", () => {
    const wishing = (seq: number) => said({ seq, body: { kind: "user", text: "w", wishes: { model: "m" } } });
    expect(seqs(rest([wishing(1), said({ seq: 2 })], { busyUntil: 500 }))).toEqual([1]);
    expect(seqs(rest([said({ seq: 1 }), wishing(2), said({ seq: 3 })], { busyUntil: 500 }))).toEqual([1, 3]);
  });

  test("runs a trigger alone, even in mode collect", () => {
    const trigger = said({ seq: 1, body: { kind: "trigger", text: "tick", trigger: { type: "cron", id: "j" } } });
    expect(seqs(rest([trigger, said({ seq: 2 })], { busyUntil: 500 }))).toEqual([1]);
  });
});

describe("the cap", () => {
  const many = (dropPolicy: QueueSettings["dropPolicy"], mode: QueueMode = "queue") =>
    Array.from({ length: 5 }, (_, i) => said({ seq: i + 1, mode, settings: { cap: 3, dropPolicy } }));

  test.each([
    ["old", [1, 2], [3], []],
    ["new", [4, 5], [1], []],
    ["summarize", [1, 2], [3], [1, 2]],
  ] as const)("with policy %s drops %j, runs %j and summarizes %j", (policy, dropped, runs, told) => {
    const choice = rest(many(policy));
    expect(choice).toMatchObject({ act: "run" });
    if (choice.act !== "run") return;
    expect(choice.dropped.map(({ message }) => message.seq)).toEqual(dropped);
    expect(choice.dropped.every((one) => one.policy === `cap 3 (${policy})`)).toBe(true);
    expect(seqs(choice)).toEqual(runs);
    expect(choice.summarize.map(({ seq }) => seq)).toEqual(told);
  });

  test("does not count reports and triggers, and never drops them", () => {
    const report = (seq: number) =>
      said({
        seq,
        mode: "queue",
        settings: { cap: 1 },
        body: { kind: "report", text: "done", childId: agentId, childRunId: "r" as never },
      });
    const choice = rest([report(1), report(2), said({ seq: 3, mode: "queue", settings: { cap: 1 } })]);
    expect(choice).toMatchObject({ act: "run", dropped: [] });
  });
});

describe("deduplication of waiting messages", () => {
  const text = { kind: "user", text: "again" } as const;
  test.each([
    ["message-id", { id: "7" }, { id: "7" }, true],
    ["message-id", { id: "7" }, { id: "7", to: { channel: "c", to: "other" } }, false],
    ["message-id", { id: "7" }, { id: "8" }, false],
    ["none", { id: "7" }, { id: "7" }, false],
    ["prompt", { id: "7", body: text }, { id: "8", body: text }, false],
  ] as const)("by %s treats %j and %j as the same: %s", (dedupe, a, b, same) => {
    const choice = rest([said({ seq: 1, ...a }), said({ seq: 2, ...b })], { dedupe, busyUntil: 500 });
    expect(choice.act === "run" && choice.dropped.length).toBe(same ? 1 : 0);
  });

  test.each([
    [undefined, undefined, true],
    [undefined, 0, true],
    [undefined, 1, false],
    [1, 1, true],
    [1, 2, false],
  ])("by message-id takes revision %s and revision %s for the same: %s", (first, second, same) => {
    const edited = (seq: number, revision: number | undefined): Waiting => {
      const one = said({ seq, id: "7" });
      return { ...one, message: { ...one.message, source: { ...one.message.source, revision } as never } };
    };
    const choice = rest([edited(1, first), edited(2, second)], { dedupe: "message-id", busyUntil: 500 });
    expect(choice.act === "run" && choice.dropped.length).toBe(same ? 1 : 0);
  });

  test("by prompt applies to messages without an id of a channel", () => {
    const anonymous = (seq: number): Waiting => {
      const one = said({ seq, body: text });
      return { ...one, message: { ...one.message, source: undefined } };
    };
    const choice = rest([anonymous(1), anonymous(2)], { dedupe: "prompt", busyUntil: 500 });
    expect(choice).toMatchObject({ act: "run", dropped: [{ policy: "duplicate (prompt)" }] });
  });
});

describe("a message that arrives while a run is active", () => {
  const run = {
    streaming: true,
    compacting: false,
    route: routeKey(HOME),
    lastSeq: 1,
  };
  test.each([
    ["steer", run, "steer"],
    ["steer", { ...run, streaming: false }, "steer"],
    ["steer", { ...run, route: "elsewhere" }, "wait"],
    ["steer-backlog", run, "steer"],
    ["steer-backlog", { ...run, streaming: false }, "wait"],
    ["steer-backlog", { ...run, compacting: true }, "wait"],
    ["followup", run, "wait"],
    ["collect", run, "wait"],
    ["queue", run, "wait"],
    ["interrupt", run, "end-interrupt"],
  ] as const)("in mode %s with %j: %s", (mode, active, arrival) => {
    expect(onArrival(said({ seq: 2, mode }), active)).toBe(arrival);
  });

  test("ends the run if it is a stop or reset newer than the run's messages; a daily reset waits", () => {
    expect(onArrival(said({ seq: 2, body: { kind: "stop" } }), run)).toBe("end-stop");
    expect(onArrival(said({ seq: 1, body: { kind: "stop" } }), { ...run, lastSeq: 5 })).toBe("wait");
    expect(onArrival(said({ seq: 2, body: { kind: "reset", by: "person" } }), run)).toBe("end-reset");
    expect(onArrival(said({ seq: 2, body: { kind: "reset", by: "daily" } }), run)).toBe("wait");
  });
});

test("a steered message never overtakes an older message of its route", () => {
  const waiting = [
    said({ seq: 1 }),
    said({ seq: 2, to: { channel: "c", to: "b" } }),
    said({ seq: 3 }),
    said({ seq: 4 }),
  ].map((one) => one.message);
  const route = routeKey(HOME);
  expect(steerableNow(waiting, route, new Set([1, 3])).map(({ seq }) => seq)).toEqual([1, 3]);
  expect(steerableNow(waiting, route, new Set([1, 4])).map(({ seq }) => seq)).toEqual([1]);
  expect(steerableNow(waiting, route, new Set([3, 4]))).toEqual([]);
});

describe("the queue's laws", () => {
  const message = fc.record({
    mode: fc.constantFrom(...queueModeSchema.options),
    to: fc.constantFrom<DeliveryContext>(
      HOME,
      { channel: "c", to: "b" },
      { ...HOME, threadId: 1 },
      { ...HOME, threadId: "x" },
    ),
    cap: fc.integer({ min: 1, max: 6 }),
    dropPolicy: fc.constantFrom("old", "new", "summarize" as const),
    gap: fc.integer({ min: 0, max: 1_500 }),
    silent: fc.boolean(),
  });
  const inbox = fc.array(message, { maxLength: 25 });

  test("nothing is lost, the cap is kept, each prompt has one route, and everything ends", () => {
    fc.assert(
      fc.property(inbox, fc.option(fc.integer({ min: 0, max: 30_000 })), (messages, busy) => {
        let at = 0;
        let waiting = messages.map(({ mode, to, cap, dropPolicy, gap, silent }, i) => {
          at += gap;
          const body: MessageBody | undefined =
            silent && i % 3 === 0 ? { kind: "system", text: "psst", silent: true } : undefined;
          return said({ seq: i + 1, at, mode, to, settings: { cap, dropPolicy }, ...(body ? { body } : {}) });
        });
        const ended = new Set<number>();
        let now = at;
        for (let turns = 0; waiting.length > 0; turns++) {
          expect(turns).toBeLessThan(200);
          const choice = rest(waiting, { now, busyUntil: busy ?? undefined });
          expect(choice.act).not.toBe("rest");
          if (choice.act === "wait") {
            expect(choice.until).toBeGreaterThan(now);
            now = choice.until;
            continue;
          }
          const gone = [
            ...("messages" in choice ? choice.messages : []),
            ...(choice.act === "run" ? choice.dropped.map((one) => one.message) : []),
          ];
          expect(gone.length).toBeGreaterThan(0);
          if (choice.act === "run") {
            expect(new Set(choice.messages.map(({ delivery }) => routeKey(delivery))).size).toBe(1);
            const order = choice.messages.map(({ seq }) => seq);
            expect(order).toEqual([...order].sort((a, b) => a - b));
            const kept = waiting.filter(
              ({ message: one }) => one.body.kind === "user" && !choice.dropped.some((drop) => drop.message === one),
            );
            const cap = waiting.filter(({ message: one }) => one.body.kind === "user").at(-1)?.settings.cap ?? 1;
            expect(kept.length).toBeLessThanOrEqual(cap);
          }
          for (const one of gone) {
            expect(ended.has(one.seq)).toBe(false);
            ended.add(one.seq);
          }
          waiting = waiting.filter(({ message: one }) => !gone.includes(one));
        }
        expect(ended.size).toBe(messages.length);
      }),
    );
  });

  test("the same inbox always gives the same decision", () => {
    fc.assert(
      fc.property(inbox, (messages) => {
        const waiting = messages.map(({ mode, to, cap, dropPolicy }, i) =>
          said({ seq: i + 1, mode, to, settings: { cap, dropPolicy } }),
        );
        expect(rest(waiting)).toEqual(rest(waiting));
      }),
    );
  });
});

describe("the queue's texts", () => {
  test("number the messages of a collected prompt", () => {
    expect(buildCollectPrompt({ title: COLLECT_TITLE, texts: ["one", "two"] })).toBe(
      "[Queued messages while agent was busy]\n\n---\nQueued #1\none\n\n---\nQueued #2\ntwo",
    );
  });

  test("summarize dropped messages", () => {
    const dropped = [1, 2, 3].map((seq) => said({ seq }).message);
    expect(buildQueueSummaryPrompt(dropped, 2)).toBe(
      "[Queue overflow] Dropped 3 messages due to cap.\nSummary:\n- word 2\n- word 3",
    );
    expect(buildQueueSummaryPrompt(dropped.slice(0, 1), 2)).toBe(
      "[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- word 1",
    );
    expect(buildQueueSummaryPrompt([], 2)).toBeUndefined();
  });

  test("use the summary line that came with a message", () => {
    const [one, two] = [1, 2].map((seq) => said({ seq }).message);
    if (!one || !two || one.body.kind !== "user") throw new TypeError("no messages");
    const own = { ...one, body: { ...one.body, summaryLine: "  Ann asks\nfor tea " } };
    expect(buildQueueSummaryPrompt([own, two], 5)).toBe(
      "[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- Ann asks for tea\n- word 2",
    );
    expect(buildQueueSummaryPrompt([{ ...one, body: { ...one.body, summaryLine: "  " } }], 5)).toContain("- word 1");
  });

  test("have summary lines of at most 160 characters", () => {
    expect(summaryLine("  a\n b\t c ")).toBe("a b c");
    expect(summaryLine("x".repeat(161))).toBe(`${"x".repeat(159)}…`);
    expect(summaryLine("x".repeat(160))).toBe("x".repeat(160));
  });
});

describe("a burst: what one person sends at once becomes one prompt", () => {
  const own = "ann" as PersonId;
  const part = (seq: number, at: number, more: Partial<Said> & { text?: string; burst?: "text" | "album" } = {}) =>
    said({
      seq,
      at,
      mode: "queue",
      body: { kind: "user", text: more.text ?? `part ${seq}`, burst: more.burst ?? "text" },
      ...more,
    });

  test("waits 300 ms after the last part, and joins what came", () => {
    const parts = [part(1, 1_000), part(2, 1_200)];
    expect(rest(parts, { own, now: 1_300 })).toEqual({ act: "wait", until: 1_500 });
    const choice = rest(parts, { own, now: 1_500 });
    expect(choice).toMatchObject({ act: "run", joined: true, collected: false });
    expect(seqs(choice)).toEqual([1, 2]);
  });

  test.each([
    ["a long part", part(1, 1_000, { text: "x".repeat(4_000) }), 2_500],
    ["a part of an album", part(1, 1_000, { burst: "album" }), 2_500],
    ["a short part", part(1, 1_000), 1_300],
  ])("%s is waited for as long as the next may take", (_, one, until) => {
    expect(rest([one], { own, now: 1_001 })).toEqual({ act: "wait", until });
  });

  test("has limits: twelve messages, 7.5 seconds, 50,000 characters", () => {
    const many = Array.from({ length: 15 }, (_, n) => part(n + 1, 1_000 + n));
    expect(seqs(rest(many, { own, now: 1_015 }))).toHaveLength(12);
    const slow = Array.from({ length: 30 }, (_, n) => part(n + 1, 1_000 + n * 290)).filter(
      ({ message }) => message.seq <= 11,
    );
    const steady = [...slow.slice(0, 10), part(11, 8_400)];
    expect(rest(steady, { own, now: 8_450 })).toEqual({ act: "wait", until: 8_500 });
    const long = [part(1, 1_000, { text: "x".repeat(30_000) }), part(2, 1_001, { text: "x".repeat(30_000) })];
    expect(seqs(rest(long, { own, now: 1_002 }))).toEqual([1]);
  });

  test.each([
    ["a command", said({ seq: 2, at: 1_010, body: { kind: "command", name: "status", text: "" } })],
    ["another person", part(2, 1_010, { for: "bob" })],
    ["another place", part(2, 1_010, { to: { channel: "c", to: "elsewhere" } })],
    ["a message of a channel without bursts", said({ seq: 2, at: 1_010, mode: "queue" })],
  ])("%s ends it at once and is not joined", (_, other) => {
    const choice = rest([part(1, 1_000), other], { own, now: 1_020 });
    expect(choice.act).toBe("run");
    expect(seqs(choice)).toEqual([1]);
  });

  test("a part that was dropped is not joined, and ends it", () => {
    const settings = { cap: 2, dropPolicy: "new" } as const;
    const parts = [1, 2, 3, 4].map((seq) => part(seq, 1_000 + seq, { settings }));
    const choice = rest(parts, { own, now: 1_010 });
    if (choice.act !== "run") throw new TypeError(choice.act);
    expect(seqs(choice)).toEqual([1, 2]);
    expect(choice.dropped.map(({ message }) => message.seq)).toEqual([3, 4]);
  });

  test("never joins people, and never loses or reorders a message, however they mix", () => {
    const one = fc.record({
      who: fc.constantFrom("ann", "bob"),
      gap: fc.integer({ min: 0, max: 500 }),
      burst: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 20 }), (list) => {
        let at = 0;
        let waiting = list.map(({ who, gap, burst }, n) => {
          at += gap;
          return burst ? part(n + 1, at, { for: who }) : said({ seq: n + 1, at, mode: "queue", for: who });
        });
        const taken: number[] = [];
        for (let now = at + 10_000; waiting.length > 0; ) {
          const choice = rest(waiting, { own, now });
          if (choice.act !== "run") throw new TypeError(choice.act);
          const people = new Set(choice.messages.map(({ behalf }) => behalf?.person));
          expect(people.size).toBe(1);
          taken.push(...seqs(choice));
          waiting = waiting.filter(({ message }) => !choice.messages.includes(message));
        }
        expect(taken).toEqual(list.map((_, n) => n + 1));
      }),
    );
  });
});
