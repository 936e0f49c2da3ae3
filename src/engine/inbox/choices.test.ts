/** What an agent at rest does with the messages that wait, at every edge: tables. */
import { describe, expect, test } from "vitest";
import type { MessageBody } from "../../core/message/message.ts";
import type { PersonId } from "../../core/people/person.ts";
import { buildCollectPrompt } from "./collect-prompt.ts";
import type { Waiting } from "./decide.ts";
import { agentId, rest, type Said, said, seqs } from "./waiting.test-kit.ts";

const own = "ann" as PersonId;
const report = (text = "done", silent?: true): MessageBody => ({
  ...{ kind: "report", text, childId: agentId, childRunId: "r" as never },
  silent,
});
/** The same message with other fields beside its body. */
const but = (one: Waiting, more: object): Waiting => ({ ...one, message: { ...one.message, ...more } as never });
const dropped = (choice: ReturnType<typeof rest>): readonly number[] =>
  choice.act === "run" ? choice.dropped.map(({ message }) => message.seq) : [];

describe("a message that needs no run of the ordinary kind", () => {
  test.each<[object, object]>([
    [{ kind: "restore" }, { act: "settle", reason: "context rebuilt" }],
    [
      { kind: "describe", by: "b", description: "d", systemPrompt: "s" },
      { act: "settle", reason: "description updated" },
    ],
    [{ kind: "setting" }, { act: "settle", reason: "settings changed" }],
    [
      { kind: "branch", entryId: "e" },
      { act: "settle", reason: "went back" },
    ],
    [
      { kind: "subagents", command: "" },
      { act: "settle", reason: "answered about children" },
    ],
    [
      { kind: "command", name: "status", text: "" },
      { act: "settle", reason: "answered" },
    ],
    [
      { kind: "user", text: "" },
      { act: "settle", reason: "it says nothing" },
    ],
    [{ kind: "reset", by: "daily" }, { act: "reset" }],
    [{ kind: "stop" }, { act: "stop" }],
  ])("%j: %j", (body, choice) => {
    const one = said({ seq: 1, body: body as MessageBody });
    // A message in its turn, not one that overtakes.
    expect(rest([one, said({ seq: 2 })], { urgent: [] })).toEqual({ ...choice, message: one.message });
  });

  test("a compaction is a run of its own", () => {
    const one = said({ seq: 1, body: { kind: "compact" } });
    expect(rest([one, said({ seq: 2 })])).toEqual({
      ...{ act: "run", messages: [one.message], collected: false, dropped: [], summarize: [], cap: 1 },
    });
  });

  test.each([
    ["a silent report", report("x", true), [1]],
    ["a silent note", { kind: "system", text: "x", silent: true } as MessageBody, [1]],
  ])("%s is recorded up to the first loud message, or with all", (_, body, alone) => {
    expect(seqs(rest([said({ seq: 1, body }), said({ seq: 2 })]))).toEqual(alone);
    expect(rest([said({ seq: 1, body }), said({ seq: 2, body })])).toMatchObject({
      act: "record",
      messages: [{ seq: 1 }, { seq: 2 }],
    });
  });
});

describe("a message that waited", () => {
  test.each([
    [499, false],
    [500, true],
    [501, true],
  ])("for a run that ended at %i, accepted at 500, waited: %s", (busyUntil, collected) => {
    expect(rest([said({ seq: 1, at: 500 })], { busyUntil })).toMatchObject({ act: "run", collected });
  });

  test.each([
    ["one that did not", [1], undefined, false],
    ["one that did", [1], 500, true],
    ["two, of which none did", [1, 2], undefined, true],
    ["three, of which none did", [1, 2, 3], undefined, true],
  ])("%s is told to the model as such", (_, taken, busyUntil, collected) => {
    const choice = rest(
      taken.map((seq) => said({ seq })),
      { busyUntil },
    );
    expect([seqs(choice), choice]).toMatchObject([taken, { collected }]);
  });

  test("and runs alone is not told so", () => {
    const wishing = said({ seq: 1, body: { kind: "user", text: "w", wishes: { model: "m" } } });
    expect(rest([wishing], { busyUntil: 500 })).toMatchObject({ act: "run", collected: false });
  });

  test("is collected with those of its mode only", () => {
    const mixed = [said({ seq: 1 }), said({ seq: 2, mode: "queue" }), said({ seq: 3 })];
    expect(seqs(rest(mixed, { busyUntil: 500 }))).toEqual([1, 3]);
  });

  test("is ready at the end of the debounce time, not before", () => {
    const one = [said({ seq: 1, at: 500 })];
    expect(rest(one, { busyUntil: 500, now: 1_499 })).toEqual({ act: "wait", until: 1_500 });
    expect(rest(one, { busyUntil: 500, now: 1_500 }).act).toBe("run");
  });

  test("waits by the debounce time of the last one", () => {
    const two = [
      said({ seq: 1, at: 100, settings: { debounceMs: 5_000 } }),
      said({ seq: 2, at: 200, settings: { debounceMs: 300 } }),
    ];
    expect(rest(two, { busyUntil: 500, now: 201 })).toEqual({ act: "wait", until: 500 });
  });

  test("that names no one is collected with those of the agent's own person, in either order", () => {
    const two = [said({ seq: 1 }), said({ seq: 2, for: "ann" })];
    expect(seqs(rest(two, { own, busyUntil: 500 }))).toEqual([1, 2]);
    const bobs = [said({ seq: 1, for: "bob" }), said({ seq: 2, for: "bob" }), said({ seq: 3 })];
    expect(seqs(rest(bobs, { own, busyUntil: 500 }))).toEqual([1, 2]);
  });

  test.each([
    [50_000, [1, 2]],
    [50_001, [1]],
  ])("fits into one prompt with another if both have 100000 characters: %i more", (length, taken) => {
    const two = [
      said({ seq: 1, body: report("x".repeat(50_000)) }),
      said({ seq: 2, body: report("y".repeat(length)) }),
    ];
    expect(seqs(rest(two, { busyUntil: 500 }))).toEqual(taken);
  });
});

describe("in mode interrupt", () => {
  test.each<[string, MessageBody]>([
    ["a report", report()],
    ["a trigger", { kind: "trigger", text: "x", trigger: { type: "cron", id: "j" } }],
    ["a late yes", { kind: "permission", runId: "r" as never, callId: "c", approved: true, text: "late" }],
  ])("%s waits its turn, and then runs", (_, body) => {
    const [first, other] = [said({ seq: 1, mode: "queue" }), said({ seq: 2, mode: "interrupt", body })];
    expect(seqs(rest([first, other]))).toEqual([1]);
    expect(seqs(rest([other]))).toEqual([2]);
  });
});

describe("the cap of a queue", () => {
  test("is that of the last message, also for the lines about what was dropped", () => {
    const three = [5, 4, 2].map((cap, n) => said({ seq: n + 1, mode: "queue", settings: { cap } }));
    const choice = rest(three);
    expect([dropped(choice), choice]).toMatchObject([[1], { cap: 2 }]);
  });

  test.each([
    ["old", 3, []],
    ["old", 2, [1]],
    ["new", 3, []],
    ["new", 2, [3]],
    ["summarize", 3, []],
  ] as const)("%s: three messages with a cap of %i lose %j", (dropPolicy, cap, lost) => {
    const three = [1, 2, 3].map((seq) => said({ seq, mode: "queue", settings: { cap, dropPolicy } }));
    expect(dropped(rest(three))).toEqual(lost);
  });

  test("counts one that names no one for the agent's own person", () => {
    const settings = { cap: 1, dropPolicy: "old" } as const;
    const two = [said({ seq: 1, mode: "queue", settings }), said({ seq: 2, mode: "queue", settings, for: "ann" })];
    expect(dropped(rest(two, { own }))).toEqual([1]);
  });
});

describe("two waiting messages with the same words", () => {
  const again = { kind: "user", text: "again" } as const;
  const nameless = (seq: number, body: MessageBody = again) => but(said({ seq, body }), { source: undefined });
  test.each([
    ["with one id, by message-id", "message-id", [said({ seq: 1, id: "7" }), said({ seq: 2, id: " 7 " })], true],
    ["without an id, by message-id", "message-id", [nameless(1), nameless(2)], false],
    ["without an id, by prompt", "prompt", [nameless(1), nameless(2)], true],
    ["without an id, by none", "none", [nameless(1), nameless(2)], false],
    ["other words without an id, by prompt", "prompt", [nameless(1), nameless(2, { kind: "user", text: "x" })], false],
    ["of reports without an id, by prompt", "prompt", [nameless(1, report()), nameless(2, report())], false],
    [
      "of reports with one id, by message-id",
      "message-id",
      [said({ seq: 1, id: "7", body: report() }), said({ seq: 2, id: "7", body: report() })],
      false,
    ],
  ] as const)("%s (%s) are one", (_, dedupe, two, same) => {
    const choice = rest(two, { dedupe, busyUntil: 500 });
    expect([seqs(choice), dropped(choice)]).toEqual(same ? [[1], [2]] : [[1, 2], []]);
  });
});

describe("a burst", () => {
  const part = (seq: number, at: number, more: Partial<Said> & { length?: number } = {}): Waiting =>
    said({
      seq,
      at,
      mode: "queue",
      body: { kind: "user", text: "x".repeat(more.length ?? 5), burst: "text" },
      ...more,
    });

  test("of one part is a message like any other when nothing more has come", () => {
    const choice = rest([part(1, 1_000)], { own, now: 1_300 });
    expect(choice).toMatchObject({ act: "run", collected: false });
    expect(choice.act === "run" && choice.joined).toBeUndefined();
  });

  test("is of one person, also of another one than the agent's own", () => {
    const bobs = [part(1, 1_000, { for: "bob" }), part(2, 1_001, { for: "bob" })];
    expect(rest(bobs, { own, now: 1_100 })).toEqual({ act: "wait", until: 1_301 });
    expect(seqs(rest(bobs, { own, now: 1_301 }))).toEqual([1, 2]);
    const anns = [part(1, 1_000), part(2, 1_001, { for: "ann" })];
    expect(seqs(rest(anns, { own, now: 1_301 }))).toEqual([1, 2]);
  });

  test.each([
    ["with overrides", { body: { kind: "user", text: "x", burst: "text", wishes: { model: "m" } } }],
    ["with a promised run", { asRun: "r" }],
  ])("ends at a part %s, which runs alone", (_, more) => {
    const choice = rest([part(1, 1_000), but(part(2, 1_001), more)], { own, now: 1_002 });
    expect(seqs(choice)).toEqual([1]);
    expect(choice.act === "run" && choice.joined).toBeUndefined();
    expect(seqs(rest([but(part(1, 1_000), more), part(2, 1_001)], { own, now: 1_002 }))).toEqual([1]);
  });

  test.each([
    [25_000, { act: "wait", until: 2_501 }],
    [25_001, { act: "run", messages: [{ seq: 1 }] }],
  ])("has at most 50000 characters: 25000 and %i", (length, choice) => {
    expect(rest([part(1, 1_000, { length: 25_000 }), part(2, 1_001, { length })], { own, now: 1_002 })).toMatchObject(
      choice,
    );
  });

  test("waits for the rest of a part that is longer than that by itself", () => {
    expect(rest([part(1, 1_000, { length: 60_000 })], { own, now: 1_001 })).toEqual({ act: "wait", until: 2_500 });
  });

  test.each([
    [3_999, 1_300],
    [4_000, 2_500],
  ])("of a part of %i characters waits until %i", (length, until) => {
    expect(rest([part(1, 1_000, { length })], { own, now: 1_001 })).toEqual({ act: "wait", until });
  });

  test("has at most twelve parts; with twelve it waits for the end like with one", () => {
    const parts = Array.from({ length: 13 }, (_, n) => part(n + 1, 1_000 + n));
    expect(rest(parts.slice(0, 12), { own, now: 1_015 })).toEqual({ act: "wait", until: 1_311 });
    expect(seqs(rest(parts, { own, now: 1_015 }))).toHaveLength(12);
  });

  test("that has ended is ready at any time", () => {
    expect(rest([part(1, 0), said({ seq: 2, at: 0, mode: "queue" })], { own, now: 0 }).act).toBe("run");
  });

  test.each([
    ["collect", 2_000, { joined: undefined, collected: true }],
    ["collect", undefined, { joined: true, collected: false }],
    ["followup", 2_000, { joined: true, collected: false }],
  ] as const)("in mode %s, with a run until %s: %j", (mode, busyUntil, expected) => {
    const choice = rest([part(1, 1_000, { mode }), part(2, 1_001, { mode })], { own, busyUntil, now: 9_000 });
    expect([seqs(choice), choice]).toMatchObject([[1, 2], expected]);
  });
});

test("a collected prompt has the lines about dropped messages first, and each text without blanks around it", () => {
  expect(buildCollectPrompt({ title: "T", texts: ["one \n", "two"], summary: "S" })).toBe(
    "T\n\nS\n\n---\nQueued #1\none\n\n---\nQueued #2\ntwo",
  );
});
