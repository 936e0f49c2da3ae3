/** What a restart does with a run that it finds: whether it waits, goes on, is tried, fails or is given up. No engine. */
import { describe, expect, it, test } from "vitest";
import type { RunId } from "../../../core/ids.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import { messageTo, recordedLease } from "../actor/lease.test-kit.ts";
import { discardWaiting, recoverRun } from "./recover-run.ts";

const tick = () => new Promise((resolve) => setImmediate(resolve));

interface Given {
  readonly body?: Partial<RunBody>;
  readonly attempt?: number;
  readonly fate?: string;
  readonly discards?: boolean;
  readonly faulted?: boolean;
  readonly stopped?: object;
  readonly note?: object;
  readonly missing?: true;
  readonly fails?: true;
  /** How long the reading of arrivals takes. */
  readonly slowLook?: true;
}

function world({ body, attempt = 1, fate = "dead", discards = false, faulted = false, ...given }: Given = {}) {
  const happened: unknown[] = [];
  const said = (what: string) => () => void happened.push(what);
  const later = (what: string) => () => tick().then(said(what));
  const full = { lane: "cron", node: 1, seqs: [4, 5], calls: [], iterations: 0, deliveries: 0, ...body };
  const record = { id: "r1", agentId: "a1", sessionId: "s1", startedAt: 1, step: 3, attempt, body: full };
  const recorded = recordedLease({
    record: { stopped: given.stopped },
    lease: { commitsOf: () => undefined },
    ports: {
      store: { run: async () => (given.missing ? undefined : { ...record, behalf: { person: "ann" } }) },
      watchdogNotes: { of: async () => given.note, counted: later("counted") },
      ...{ settings: { timeoutMs: 1_000 }, clock: { now: () => 500, monotonic: () => 0, after: () => said("cancel") } },
    },
  });
  let driven: LiveRun | undefined;
  const parts = {
    ...{ discards, faulted },
    host: {
      ...{ ports: recorded.ports, node: 3, emit: (event: unknown) => void happened.push(event) },
      fates: { lookMs: 7, read: async () => () => fate },
      trials: {
        ...{ leave: said("leave"), awaits: () => true, ask: () => undefined, onDrain: said("watched") },
        markOf: (node: number) => ({ node, of: 1, alone: true }),
      },
    },
    inbox: {
      lookAtArrivals: async () => {
        happened.push("look");
        if (given.slowLook) await tick();
        happened.push("looked");
      },
    },
    driver: {
      enter: async (lane: string) => {
        happened.push(`enter ${lane}`);
        return { leave: said("left") };
      },
      drive: async (_lease: unknown, run: LiveRun) => {
        driven = run;
        happened.push("drive");
        await tick();
        if (given.fails) throw new TypeError("lost");
        happened.push("driven");
      },
    },
    pause: (ms: number) => later(`pause ${ms}`)(),
    wake: () => {},
  };
  const recover = (waking?: Parameters<typeof recoverRun>[3]) =>
    recoverRun(parts as never, recorded.lease, "r1" as RunId, waking);
  return { ...recorded, recover, happened, parts, run: () => driven };
}
const sites = ({ commits }: ReturnType<typeof world>): readonly string[] => commits.map(({ site }) => site);

describe("a run that is found", () => {
  it("goes on in its lane, reads what arrived, and leaves both the lane and the trials at its end", async () => {
    const one = world();
    await one.recover();
    const own = ["enter cron", "look", "looked", "drive", "driven", "left", "leave"];
    // A run that is no suspect leaves the trials at once, and at its end.
    expect(one.happened).toEqual(["leave", ...own]);
    expect([sites(one), one.run()?.attempt, one.run()?.endReason]).toEqual([["resume"], 2, undefined]);
  });

  it("leaves the lane and the trials also if it fails on its way", async () => {
    const one = world({ fails: true });
    await expect(one.recover()).rejects.toThrow("lost");
    expect(one.happened.slice(-3)).toEqual(["drive", "left", "leave"]);
  });

  it("waits outside of any lane while nothing is known of its node", async () => {
    const one = world({
      fate: "silent",
      body: { trial: { deaths: [], survived: 0, on: { node: 1, of: 1, alone: true } } },
    });
    await one.recover();
    expect([one.happened, sites(one)]).toEqual([["pause 7"], []]);
  });

  it("is corrupt if it does not exist", async () => {
    await expect(world({ missing: true }).recover()).rejects.toThrow("names the run r1, which does not exist");
  });

  it("ends under a stop, before anything of it starts", async () => {
    const one = world({ stopped: { at: 1, reason: "enough" } });
    await one.recover();
    expect(one.run()?.endReason).toBe("stop");
  });
});

test.each<[string, Given, boolean]>([
  ["at once, if it was at work", { slowLook: true }, false],
  ["after what woke it was read, if it was suspended", { slowLook: true, body: { suspended: true, node: 3 } }, true],
])("a run starts %s", async (_title, given, first) => {
  const one = world(given);
  await one.recover({ decisions: [messageTo({ kind: "stop" }, { seq: 9 })], waitEnds: false });
  expect(one.happened.indexOf("looked") < one.happened.indexOf("drive")).toBe(first);
  expect(one.settled().map(({ seq }) => seq)).toEqual(first ? [9] : []);
});

describe("a suspect", () => {
  it("is on trial from its resumption to its end", async () => {
    const one = world({ attempt: 2 });
    await one.recover();
    expect(one.happened).toEqual(
      ["enter cron", "look", "looked", "watched", "drive", "driven", "cancel", "left"].concat("leave"),
    );
    expect(one.commits[0]?.ops).toContainEqual(
      expect.objectContaining({
        ...{ op: "run.step", attempt: 3 },
        body: expect.objectContaining({ trial: { deaths: [], survived: 0, on: { node: 3, of: 1, alone: true } } }),
      }),
    );
  });

  it("is not watched if it only goes on with what is known of it", async () => {
    const one = world({ fate: "returned", body: { trial: { deaths: [], survived: 2 } } });
    await one.recover();
    expect(one.happened).not.toContain("watched");
    expect(one.run()?.trial).toEqual({ deaths: [], survived: 2 });
    const [step] = one.commits[0]?.ops ?? [];
    expect(step).toMatchObject({ op: "run.step", body: { trial: { survived: 2, on: undefined } } });
  });
});

describe("a run that fails", () => {
  const fails: Given = { body: { trial: { deaths: [7, 8], survived: 0, on: { node: 1, of: 1, alone: true } } } };
  it("ends with a text, and its messages are told to be settled after that", async () => {
    const one = world(fails);
    await one.recover();
    expect(sites(one)).toEqual(["resume", "end.failed"]);
    expect(one.happened).toEqual([
      "enter cron",
      { type: "settled", messages: [4, 5].map((seq) => ({ agentId: "a1", seq })) },
      ...["left", "leave"],
    ]);
  });

  it("is forgotten by the watchdog only after its end", async () => {
    const one = world({ ...fails, note: { at: 3, phase: "tool x", runId: "r1" } });
    await one.recover();
    expect(sites(one)).toEqual(["resume", "end.failed"]);
    expect(one.happened.map((what) => (typeof what === "string" ? what : "settled"))).toEqual(
      ["enter cron", "counted", "settled", "left"].concat("leave"),
    );
  });
});

test.each<[string, Given, boolean]>([
  ["a run of an earlier process", { discards: true }, true],
  ["a run of this process that had a fault", { discards: true, faulted: true, body: { node: 3 } }, true],
  ["not one of this process", { discards: true, body: { node: 3 } }, false],
  ["not one that waits for a person", { discards: true, body: { suspended: true } }, false],
  ["nothing without the setting", {}, false],
])("`discard` gives up %s", async (_title, given, isGivenUp) => {
  const one = world(given);
  await one.recover();
  expect(sites(one)).toEqual(isGivenUp ? ["resume", "end.failed"] : ["resume"]);
  expect(one.happened.includes("drive")).toBe(!isGivenUp);
});

test.each<[string, readonly number[], readonly number[]]>([
  ["all that came before the start", [1, 99], [1, 2]],
  ["not what came at the start or later", [99, 100, 101], [1]],
  ["nothing", [100], []],
])("of the messages that wait, `discard` settles %s", async (_title, times, seqs) => {
  const { ports, lease, settled, commits } = recordedLease();
  const waiting = times.map((acceptedAt, at) => messageTo({ kind: "user", text: "x" }, { acceptedAt, seq: at + 1 }));
  const discarded = await discardWaiting({ ports, startedAt: 100 } as never, lease, waiting);
  expect(discarded.map(({ seq }) => seq)).toEqual(seqs);
  const about = { from: "waiting", state: "discarded", reason: "restore: discard" };
  expect(settled()).toEqual(seqs.map((seq) => ({ seq, ...about })));
  expect(commits.map(({ site }) => site)).toEqual(seqs.length > 0 ? ["discard"] : []);
});
