/** A summary that was written in the background: when one is begun, and how long it waits for a run to use it. */

import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import { failure, modelResult, type Reply } from "../../../../test/kit/model.ts";
import { testSettings } from "../../../../test/kit/settings.ts";
import {
  type ContextLimits,
  contextThresholds,
  DEFAULT_CONTEXT_LIMITS,
} from "../../../core/history/compaction-settings.ts";
import type { Entry } from "../../../core/history/entry.ts";
import { budgetsOf } from "../../budgets/budget-settings.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { LiveRun } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import type { MeasuredContext } from "../measure-context.ts";
import { BackgroundCompaction } from "./background-compaction.ts";
import { AGENT, MadeHistory } from "./histories.test-kit.ts";

const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
/** Warning at 750, critical at 900, emergency at 1,000. */
const limits: ContextLimits = {
  ...DEFAULT_CONTEXT_LIMITS,
  ...{ contextWindow: 10_000, emergencyContextLimit: 1_000, reserveTokens: 0, reserveTokensFloor: 0 },
};
const thresholds = contextThresholds(limits);
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const shape = { words: 200, image: false, rounds: [], steered: false, quiet: false, branch: false, usage: false };

function setup(reply: () => Reply = () => SUMMARY) {
  const history = new MadeHistory();
  for (let n = 0; n < 4; n++) history.turn(shape);
  const log: LogLine[] = [];
  const commits: Parameters<AgentLease["commit"]>[0][] = [];
  const events: object[] = [];
  let onCommit = async (): Promise<void> => {};
  let asked = 0;
  const ports = {
    clock: virtualClock(),
    ids: history.ids,
    log: recordingLog(log),
    settings: testSettings(),
    budgets: () => budgetsOf(testSettings().current),
    events: { emit: (_: unknown, event: object) => events.push(event) },
    resolveModel: async () => ({ model: "m", system: "" }),
    model: {
      call: async () => {
        asked += 1;
        return modelResult(reply());
      },
    },
  } as unknown as RunPorts;
  const lease = {
    ...{ agentId: AGENT, sessionId: "s1", record: {}, state: { stats: {} } },
    context: { size: { counted: undefined, since: 800, all: 800 } },
    path: async () => history.path,
    ...{ nextPos: history.lines.length, leaf: history.leaf },
    commit: async (change: Parameters<AgentLease["commit"]>[0]) => {
      commits.push(change);
      await onCommit();
    },
  } as unknown as AgentLease;
  const ended = new AbortController();
  const run = {
    ...{
      id: "r1",
      signal: ended.signal,
      body: {},
      position: {},
      guard: () => ({ id: "r1", step: 1 }),
      stepped: () => {},
    },
    setup: { limits, thresholds, overhead: 0, choice: { model: "m" }, system: "", tools: [] },
  } as unknown as LiveRun;
  const background = new BackgroundCompaction();
  let readied = 0;
  const begin = async (tokens: number, own: Partial<ContextLimits> = {}): Promise<void> => {
    const measured: MeasuredContext = { limits: { ...limits, ...own }, thresholds, tokens, overhead: 0 };
    await background.start(ports, lease, measured, undefined, () => {
      readied += 1;
    });
    await turn();
  };
  return {
    ...{ background, begin, history, ports, lease, run, log, ended, commits, events },
    onCommit: (then: () => Promise<void>) => {
      onCommit = then;
    },
    append: (within?: LiveRun) => background.append(ports, lease, within),
    counts: () => ({ asked, readied }),
    take: () => background.take(ports, lease, run, 1_000),
  };
}

describe("a summary in the background", () => {
  it.each([
    [749, false],
    [750, true],
    [899, true],
  ])("of a context of %d tokens is begun: %s", async (tokens, begun) => {
    const { background, begin, counts } = setup();
    await begin(tokens);
    expect(counts()).toEqual(begun ? { asked: 1, readied: 1 } : { asked: 0, readied: 0 });
    expect([background.busy, background.isReady]).toEqual([begun, begun]);
  });

  it("is not begun if compaction is off, or while one waits", async () => {
    const off = setup();
    await off.begin(800, { enabled: false });
    expect(off.counts().asked).toBe(0);
    const waits = setup();
    await waits.begin(800);
    await waits.begin(800);
    expect(waits.counts().asked).toBe(1);
  });

  it("that failed is begun again when the context has grown by a twentieth of its limit", async () => {
    const { background, begin, counts } = setup(() => failure("auth"));
    await begin(760);
    expect([background.busy, counts()]).toEqual([false, { asked: 1, readied: 0 }]);
    const grown = [
      [809, 1],
      [810, 2],
      [859, 2],
      [860, 3],
    ] as const;
    for (const [tokens, asked] of grown) {
      await begin(tokens);
      expect([tokens, counts().asked]).toEqual([tokens, asked]);
    }
  });

  it("waits until a run has appended it: a run that ends before its commit leaves it to the next", async () => {
    const { background, begin, take } = setup();
    await begin(800);
    const first = await take();
    expect(first).toMatchObject({ entry: { summary: expect.stringContaining("to test") } });
    expect(background.isReady).toBe(true);
    expect(await take()).toEqual(first);
    background.appended();
    expect([background.isReady, await take()]).toEqual([false, undefined]);
  });

  it("is dropped if the context has changed since", async () => {
    const { background, begin, take, history, log } = setup();
    await begin(800);
    history.reset();
    expect(await take()).toBeUndefined();
    expect(background.busy).toBe(false);
    expect(log.map(({ message }) => message)).toContain("a background summary was discarded: the context has changed");
  });

  it.each<[string, (path: Entry[]) => void]>([
    [
      "another compaction is there",
      (path) =>
        path.push({
          ...{ type: "compaction", id: "c", parentId: path.at(-1)?.id, summary: "s", tokensBefore: 9, timestamp: 9 },
          firstKeptEntryId: path.at(-2)?.id,
        } as unknown as Entry),
    ],
    ["the agent went back to before what it keeps", (path) => path.splice(3)],
  ])("is dropped if %s", async (_, change) => {
    const { begin, take, history, log } = setup();
    await begin(800);
    change(history.path);
    expect(await take()).toBeUndefined();
    expect(log.map(({ message }) => message)).toContain("a background summary was discarded: the context has changed");
  });

  it("is dropped if another session has begun", async () => {
    const { background, begin, take, lease } = setup();
    await begin(800);
    Object.assign(lease, { sessionId: "s2" });
    expect([await take(), background.busy]).toEqual([undefined, false]);
  });

  it("that would not make the context smaller is dropped, and not begun again at once", async () => {
    const { background, begin, take, counts } = setup(() => `${SUMMARY}\n${"word ".repeat(9_000)}`);
    await begin(800);
    expect([await take(), background.busy]).toEqual([undefined, false]);
    await begin(801);
    expect(counts().asked).toBe(1);
  });

  it("is not given to a run that was ended while it waited", async () => {
    const { background, begin, take, ended, ports } = setup();
    const held = Promise.withResolvers<Reply>();
    Object.assign(ports.model, { call: async () => modelResult(await held.promise) });
    await begin(800);
    const taken = take();
    ended.abort();
    expect(await taken).toBeUndefined();
    held.resolve(SUMMARY);
    await turn();
    expect(background.isReady).toBe(true);
  });
});

describe("a summary that is ready", () => {
  it("is appended at rest, once, and says so to no one but the log", async () => {
    const { background, begin, append, commits, events, log } = setup();
    expect(await append()).toBe(false);
    await begin(800);
    expect(await append()).toBe(true);
    expect([background.busy, await append()]).toEqual([false, false]);
    expect(commits).toMatchObject([{ site: "compact.rest" }]);
    expect(events).toEqual([]);
    expect(log.map(({ message }) => message)).toEqual(["the context was compacted"]);
  });

  it("is appended between two steps of a run, which reports it", async () => {
    const { begin, append, run, commits, events } = setup();
    await begin(800);
    expect(await append(run)).toBe(true);
    expect(commits).toMatchObject([{ site: "compact", run: { id: "r1" } }]);
    expect(events).toEqual([{ type: "compaction_end", compacted: true, text: expect.stringContaining("summarised") }]);
  });

  it("is appended after the failures before it are forgotten", async () => {
    let reply: Reply = failure("auth");
    const { begin, append, counts } = setup(() => reply);
    await begin(760);
    reply = SUMMARY;
    await begin(850);
    await append();
    await begin(761);
    expect(counts().asked).toBe(3);
  });

  it("waits if the run was ended before the commit, and is lost with any other refusal", async () => {
    for (const [refused, waits] of [
      ["aborted", true],
      ["fenced", false],
    ] as const) {
      const { background, begin, append, run, onCommit } = setup();
      await begin(800);
      onCommit(() => Promise.reject(new CommitRefused(refused, "refused")));
      await expect(append(run)).rejects.toThrow(CommitRefused);
      expect([refused, background.isReady]).toEqual([refused, waits]);
      onCommit(async () => {});
      expect(await append()).toBe(waits);
    }
    const { background, begin, append, onCommit } = setup();
    await begin(800);
    onCommit(() => Promise.reject(new Error("the disk is full")));
    await expect(append()).rejects.toThrow("the disk is full");
    expect(background.isReady).toBe(false);
  });

  it("is not appended if the context has changed", async () => {
    const { begin, append, history, commits } = setup();
    await begin(800);
    history.reset();
    expect([await append(), commits]).toEqual([false, []]);
  });
});

describe("a summary that is stopped", () => {
  it("is neither written further nor kept, and another may begin", async () => {
    const { background, begin, counts, ports } = setup();
    const held = Promise.withResolvers<Reply>();
    const { call } = ports.model;
    let stopped: AbortSignal | undefined;
    Object.assign(ports.model, {
      call: async (_: unknown, signal: AbortSignal) => {
        stopped = signal;
        return modelResult(await held.promise);
      },
    });
    await begin(800);
    expect(background.busy).toBe(true);
    background.stop();
    expect([background.busy, stopped?.aborted]).toEqual([false, true]);
    held.resolve(SUMMARY);
    await turn();
    expect([background.isReady, counts().readied]).toEqual([false, 0]);
    Object.assign(ports.model, { call });
    await begin(800);
    expect(background.isReady).toBe(true);
    background.stop();
    expect(background.busy).toBe(false);
  });

  it("by the run's patience is late, and leaves no timer", async () => {
    const { background, begin, take, ports } = setup();
    Object.assign(ports.model, { call: () => new Promise(() => {}) });
    await begin(800);
    const clock = ports.clock as ReturnType<typeof virtualClock>;
    const taken = take();
    await clock.advance(1_000, turn);
    expect([await taken, background.busy]).toEqual(["late", false]);
    expect(clock.timers).toBe(0);
  });

  it("by its own time limit has failed", async () => {
    const { background, begin, counts, ports } = setup();
    Object.assign(ports.model, { call: () => new Promise(() => {}) });
    await begin(800);
    await (ports.clock as ReturnType<typeof virtualClock>).advance(600_000, turn);
    expect([background.busy, counts().readied]).toEqual([false, 0]);
  });
});

it("a summary that cannot be begun is a warning, and the next one waits for a larger context", async () => {
  const { background, begin, ports, log, counts } = setup();
  const { resolveModel } = ports;
  Object.assign(ports, { resolveModel: () => Promise.reject(new Error("no key")) });
  await begin(800);
  expect([background.busy, log.map(({ level }) => level)]).toEqual([false, ["warn"]]);
  Object.assign(ports, { resolveModel });
  await begin(849);
  expect(counts().asked).toBe(0);
  await begin(850);
  expect(counts().asked).toBe(1);
});
