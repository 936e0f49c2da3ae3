/** What happens to a run without an end: a table over what is known of it, with a queue of trials that records. */
import { describe, expect, it, test } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { Change } from "../../../core/store/change.ts";
import { decide } from "./decide.ts";
import type { Fate } from "./node-fates.ts";

interface Given {
  readonly body?: Partial<RunBody>;
  readonly attempt?: number;
  readonly abort?: object;
  readonly fate?: Fate;
  readonly faulted?: boolean;
  readonly discards?: boolean;
  readonly stopped?: boolean;
  readonly waits?: number;
  readonly canPause?: boolean;
  /** Whether it waits for its trial already. */
  readonly awaits?: boolean;
  /** What is left of the pause. */
  readonly pauseLeft?: number;
  readonly refused?: boolean;
  readonly note?: { readonly at: number; readonly phase: string };
}

function world(given: Given) {
  const { body, attempt = 1, abort, fate = "dead", faulted = false, discards = false, waits, canPause = true } = given;
  const seen: string[] = [];
  const changes: Change[] = [];
  const logged: string[] = [];
  const trials = {
    leave: () => void seen.push("leave"),
    awaits: () => given.awaits ?? false,
    ask: () => {
      seen.push("ask");
      return waits;
    },
    pause: () => {
      seen.push("pause");
      return canPause;
    },
    pauseLeft: given.pauseLeft ?? 7_000,
  };
  const store = {
    commit: async (change: Change) => {
      await new Promise((resolve) => setImmediate(resolve));
      changes.push(change);
      return given.refused ? { ok: false, refused: "fenced", detail: "no" } : { ok: true, results: [] };
    },
    outcome: async () => undefined,
  };
  const ports = {
    ...{
      store,
      ids: seededIds("decide"),
      clock: { now: () => 5 },
      log: { warn: (text: string) => void logged.push(text) },
    },
    watchdogNotes: {
      of: async () => given.note,
      counted: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        seen.push("counted");
      },
    },
  };
  const host = { ports, trials, node: 2, fates: { lookMs: 900, read: async () => () => fate } };
  const parts = { host, faulted, discards, wake: () => {} };
  const agent = { id: "a", descriptor: { type: "user" }, stopped: given.stopped ? { at: 1, reason: "x" } : undefined };
  const lease = { agentId: "a", node: 2, epoch: 1, sessionId: "s", record: agent };
  const full = { lane: "main", node: 1, seqs: [1], calls: [], iterations: 0, deliveries: 0, ...body };
  const record = { id: "r", step: 3, attempt, body: full, abort };
  return { seen, changes, logged, parts, run: () => decide(parts as never, lease as never, record as never) };
}
const trial = (deaths: number[], more: object = {}): Partial<RunBody> => ({ trial: { deaths, survived: 0, ...more } });
const alone = { on: { node: 1, of: 1, alone: true } };

describe("a run without an end", () => {
  test.each<[string, Given, object, readonly string[]]>([
    ["of this node goes on", { body: { node: 2 } }, { what: "resume", attempt: 1 }, []],
    ["that was paused goes on", { body: { paused: true } }, { what: "resume", attempt: 1 }, []],
    ["that waited for a person goes on", { body: { suspended: true } }, { what: "resume", attempt: 1 }, []],
    ["after its first crash goes on at once", {}, { what: "resume", attempt: 2 }, ["leave"]],
    ["of a node that came back counts no crash", { fate: "returned" }, { what: "resume", attempt: 1 }, ["leave"]],
    ["of a silent node counts a crash", { fate: "silent" }, { what: "resume", attempt: 2 }, ["leave"]],
    ["of a living node counts no crash", { fate: "alive", attempt: 2 }, { what: "resume", attempt: 2 }, ["leave"]],
    ["after its second crash is tried", { attempt: 2 }, { what: "resume", attempt: 3, tried: true }, ["ask"]],
    ["that must wait for its trial waits", { attempt: 2, waits: 50 }, { what: "wait", ms: 50 }, ["ask"]],
    ["that is to be aborted needs no trial", { attempt: 2, abort: {} }, { what: "resume", attempt: 3 }, ["leave"]],
    ["that is given up needs no trial", { attempt: 2, discards: true }, { what: "resume", attempt: 3 }, ["leave"]],
    ["under a stop needs no trial", { attempt: 2, stopped: true }, { what: "resume", attempt: 3 }, ["leave"]],
    [
      "of a trial on a silent node is left until more is known",
      { body: trial([], alone), fate: "silent" },
      { what: "wait", ms: 900 },
      [],
    ],
    [
      "that died alone on trial pauses everything",
      { body: trial([], alone) },
      { what: "wait", ms: 7_000 },
      ["leave", "pause"],
    ],
    [
      "that died alone waits a second if something else is on trial",
      { body: trial([], alone), canPause: false },
      { what: "wait", ms: 1_000 },
      ["leave", "pause"],
    ],
    [
      "fails after three deaths alone",
      { body: trial([7, 8], alone) },
      { what: "fail", attempt: 2, message: expect.stringContaining("stops it") },
      [],
    ],
    [
      "that blocked the program a third time fails with the place",
      { body: trial([7, 8]), note: { at: 3, phase: "tool x" } },
      { what: "fail", message: expect.stringContaining('"tool x"'), note: { at: 3 } },
      [],
    ],
    [
      "that blocked the program pauses, and the note is used up",
      { note: { at: 3, phase: "tool x" } },
      { what: "wait", ms: 7_000 },
      ["leave", "pause", "counted"],
    ],
    [
      "of this node that was tried before is judged by that",
      { body: { node: 2, ...trial([7]) } },
      { what: "resume", attempt: 1, tried: true, trial: { deaths: [7] } },
      ["ask"],
    ],
    [
      "of this node that had made a group of suspects is tried",
      { body: { node: 2, ...trial([], { of: 3 }) } },
      { what: "resume", attempt: 1, tried: true, trial: { of: 3 } },
      ["ask"],
    ],
    [
      "that was on trial when its node came back is tried again",
      { body: trial([], { on: { node: 1, of: 2, alone: false } }), fate: "returned" },
      { what: "resume", attempt: 1, tried: true },
      ["ask"],
    ],
    [
      "that has survived its trials and crashed no more goes on with what is known",
      { body: { node: 2, ...trial([], { survived: 2 }) } },
      { what: "resume", attempt: 1, trial: { deaths: [], survived: 2 } },
      ["leave"],
    ],
    [
      "whose old death was of a node that came back goes on, without that death",
      { body: { node: 2, ...trial([7]) }, fate: "returned" },
      { what: "resume", attempt: 1, trial: { deaths: [] } },
      ["leave"],
    ],
    ["of a first version that names no node counts a crash", { body: { node: undefined } }, { attempt: 2 }, ["leave"]],
    ["of a first version of any fate", { body: { node: undefined }, fate: "alive" }, { attempt: 2 }, ["leave"]],
    [
      "that blocked nothing this time is not judged by an old note",
      { body: { node: 2, ...trial([], { survived: 1 }) }, note: { at: 3, phase: "x" } },
      { what: "resume", attempt: 1 },
      ["leave"],
    ],
    ["with a death that counts is tried again", { body: trial([7]) }, { what: "resume", tried: true }, ["ask"]],
    [
      "after a fault of the program goes on with a death",
      { faulted: true, body: { node: 2 } },
      { what: "resume", attempt: 2, trial: { deaths: [2] } },
      [],
    ],
    [
      "after a fault of the program on another node's run keeps what is known, but for its trial",
      { faulted: true, body: { node: 1, ...trial([7], { survived: 2, ...alone, pause: 4 }) } },
      { what: "resume", attempt: 2, trial: { deaths: [7, 2], survived: 2, on: undefined, pause: undefined } },
      [],
    ],
    [
      "after its third fault fails",
      { faulted: true, body: { node: 2, ...trial([2, 2]) } },
      { what: "fail", message: expect.stringContaining("an error inside the program") },
      [],
    ],
  ])("%s", async (_title, given, decision, effects) => {
    const { run, seen, parts } = world(given);
    expect(await run()).toMatchObject(decision);
    expect(seen).toEqual(effects);
    // A fault counts once, unless nothing of the run is executed anyway.
    expect(parts.faulted).toBe(false);
  });

  it("stores a death before the pause that follows it, as this node's pause", async () => {
    const { run, changes } = world({ body: trial([], alone) });
    await run();
    expect(changes.map(({ site }) => site)).toEqual(["trial.death"]);
    expect(changes[0]).toMatchObject({
      owner: { run: { id: "r", step: 3 } },
      ops: [{ op: "run.amend", body: { trial: { deaths: [1], pause: 2 } } }],
    });
  });

  it("stores nothing of a death that could not begin its pause: it is judged again", async () => {
    const { run, changes } = world({ body: trial([], alone), canPause: false });
    await run();
    expect(changes).toEqual([]);
  });

  test.each<[number, readonly string[]]>([
    [1, []],
    [0, ["trial.pause-over"]],
  ])("during the pause after its death waits what is left: %i ms", async (pauseLeft, sites) => {
    const { run, changes, seen } = world({ body: { node: 2, ...trial([7], { pause: 2 }) }, fate: "alive", pauseLeft });
    expect(await run()).toEqual({ what: "wait", ms: pauseLeft });
    expect(changes.map(({ site }) => site)).toEqual(sites);
    expect(seen).toEqual([]);
    const [op] = changes[0]?.ops ?? [];
    if (op?.op === "run.amend") expect(op.body).toMatchObject({ seqs: [1], trial: { deaths: [7], survived: 0 } });
    if (op?.op === "run.amend") expect(op.body.trial?.pause).toBeUndefined();
  });

  it("is known as new only with no trial behind it", async () => {
    expect(await world({}).run()).toEqual({ what: "resume", attempt: 2, trial: undefined });
  });

  it("is read again if another node has taken it before its death is stored", async () => {
    await expect(world({ body: trial([], alone), refused: true }).run()).rejects.toMatchObject({ refused: "fenced" });
  });

  test.each<[string, Given, readonly string[]]>([
    ["that begins to wait for its trial", { attempt: 2, waits: 5 }, ["waits for its trial"]],
    ["that waits for it already", { attempt: 2, waits: 5, awaits: true }, []],
    ["that died alone", { body: trial([], alone) }, ["stopped while only this run was being tried"]],
    ["that blocked the program", { note: { at: 3, phase: "x" } }, ["blocked the program"]],
    ["after its first crash", {}, []],
  ])("%s is told to the operator once", async (_title, given, lines) => {
    const { run, logged } = world(given);
    await run();
    expect(logged).toEqual(lines.map((line) => expect.stringContaining(line)));
  });

  it("has the death of the node that its note is about", async () => {
    const { run, changes } = world({ body: { node: 6 }, note: { at: 3, phase: "x" } });
    await run();
    expect(changes[0]).toMatchObject({
      owner: { agentId: "a", sessionId: "s" },
      ops: [{ body: { seqs: [1], trial: { deaths: [6], note: 3 } } }],
    });
  });
});
