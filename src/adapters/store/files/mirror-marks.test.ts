/** When the mirror moves its mark, when it compares all agents, and what each change makes it write. */
import { describe, expect, test } from "vitest";
import { readMark, writeMark } from "./mark-file.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { type Mirror, openMirror } from "./mirror.ts";
import { jobRunsMirror, slotsIn } from "./mirror-job-runs.ts";
import type { MirrorSource } from "./mirror-source.ts";

const agent = (no: number) => ({
  no,
  id: `a${String(no).padStart(23, "0")}`,
  session_key: `k${no}`,
  profile: "main",
  person: null,
  descriptor: "{}",
  state: "{}",
  session_id: "s",
  next_seq: 1,
  cursor: 0,
  next_pos: 0,
  leaf: null,
  run_id: null,
  last_human_at: null,
  stopped: null,
  created_at: 1,
});

/** A database that is a few lists, and the order in which it was asked. */
function world() {
  const state = {
    first: 1,
    changes: [] as { n: number; at: number; touched: string }[],
    agents: 0,
    jobs: [] as object[],
    swarms: [] as object[],
    subagents: [] as object[],
    slots: new Map<string, string>(),
    people: undefined as object | undefined,
    files: undefined as object | undefined,
    budgets: undefined as object | undefined,
    now: 1_000,
    asked: [] as number[],
  };
  const source = {
    bounds: () => ({ first: state.first, last: state.changes.at(-1)?.n ?? 0 }),
    changeId: (n: number) => (state.changes.some((one) => one.n === n && n >= state.first) ? `c${n}` : undefined),
    changesAfter: (n: number, limit: number) =>
      state.changes.filter((one) => one.n > n && one.n >= state.first).slice(0, limit),
    agentsAfter: (no: number, limit: number) => {
      state.asked.push(no);
      return Array.from({ length: state.agents }, (_none, index) => index + 1)
        .filter((one) => one > no)
        .slice(0, limit);
    },
    knowsAgent: () => true,
    consistently: (read: () => unknown) => read(),
    agent: (no: number) => (no <= state.agents ? agent(no) : undefined),
    lines: () => [],
    openRun: () => undefined,
    unsettled: () => [],
    dedupeKeys: () => [],
    dedupeKey: () => undefined,
    openDeliveries: () => [],
    openApprovals: () => [],
    subagentRuns: () => state.subagents,
    jobs: () => state.jobs,
    job: (id: string) => state.jobs.find((one) => (one as { id: string }).id === id),
    budgets: () => state.budgets,
    swarms: () => state.swarms,
    people: () => state.people,
    storedFiles: () => state.files,
    slot: (jobId: string, slot: string) => state.slots.get(`${jobId}/${slot}`),
    newestSlots: (limit: number) => [...state.slots.values()].slice(-limit),
  } as unknown as MirrorSource;
  const files = new MemoryFiles();
  const open = (): Mirror => openMirror({ source, files, now: () => state.now });
  const change = (...touched: readonly string[]): void => {
    for (const words of touched)
      state.changes.push({ n: (state.changes.at(-1)?.n ?? 0) + 1, at: state.now, touched: words });
  };
  return { state, source, files, open, change };
}
const catchUp = (mirror: Mirror): void => {
  while (mirror.step().more);
};

describe("the mark", () => {
  test("is not clean while files may be written, and clean after a stop; each says the change it is about", () => {
    const { state, files, open, change } = world();
    change("1");
    state.agents = 1;
    const mirror = open();
    catchUp(mirror);
    expect(readMark(files)).toBeUndefined();
    expect(mirror.unsynced()).toBe(true);
    mirror.sync();
    expect([readMark(files), mirror.unsynced()]).toEqual([
      { version: 1, synced: 1, change: "c1", at: 1_000, clean: false },
      false,
    ]);
    change("1", "1");
    catchUp(mirror);
    expect(mirror.unsynced()).toBe(true);
    mirror.close();
    expect(readMark(files)).toMatchObject({ synced: 3, change: "c3", clean: true });
    const next = open();
    next.sync();
    expect(readMark(files)).toMatchObject({ synced: 3, clean: true });
    change("1");
    next.step();
    expect(readMark(files)).toMatchObject({ synced: 3, change: "c3", clean: false });
  });

  test("is written once more only if there is something new", () => {
    const { files, open, change } = world();
    change("1");
    const mirror = open();
    catchUp(mirror);
    mirror.close();
    const { calls } = files;
    mirror.close();
    mirror.sync();
    catchUp(mirror);
    expect(files.calls).toBe(calls);
    mirror.close();
    expect(files.calls).toBe(calls);
  });

  test("becomes clean at a stop although nothing was written since it was not", () => {
    const { files, open, change } = world();
    change("1");
    const mirror = open();
    catchUp(mirror);
    mirror.sync();
    mirror.close();
    expect(readMark(files)).toMatchObject({ synced: 1, clean: true });
  });

  test("of an empty database names no change", () => {
    const { files, open } = world();
    const mirror = open();
    catchUp(mirror);
    mirror.close();
    expect(readMark(files)).toMatchObject({ synced: 0, change: null, clean: true });
  });
});

describe("a pass over all agents", () => {
  test("is made without a mark, in portions of 200, and the mark waits for its end", () => {
    const { state, files, open, change } = world();
    state.agents = 210;
    change("1");
    const mirror = open();
    expect(mirror.step()).toEqual({ more: true, isPass: true });
    mirror.sync();
    expect([readMark(files), mirror.unsynced()]).toEqual([undefined, false]);
    expect(mirror.step()).toEqual({ more: false });
    expect(state.asked).toEqual([0, 200]);
    expect(files.list("agents")).toHaveLength(210);
    mirror.sync();
    expect(readMark(files)).toMatchObject({ synced: 1 });
  });

  test("ends at the changes it began with: later ones come next", () => {
    const { state, open, change } = world();
    state.agents = 201;
    change("1");
    const mirror = open();
    expect(mirror.step().isPass).toBe(true);
    change("1");
    expect(mirror.step()).toEqual({ more: true });
    expect(mirror.lag().behind).toBe(1);
    expect(mirror.step()).toEqual({ more: false });
    expect(mirror.lag().behind).toBe(0);
  });

  test("is not made after a clean stop, nor after another whose changes are all there", () => {
    const { state, open, change } = world();
    state.agents = 1;
    change("1", "1");
    const mirror = open();
    catchUp(mirror);
    mirror.sync();
    change("1");
    state.asked = [];
    catchUp(open());
    expect(state.asked).toEqual([]);
    mirror.close();
    catchUp(open());
    expect(state.asked).toEqual([]);
  });

  test("is made if changes were pruned before they reached the files, or the log begins anew", () => {
    const { state, files, open, change } = world();
    state.agents = 1;
    change("1");
    const mirror = open();
    catchUp(mirror);
    mirror.sync();
    change("1", "1", "1");
    state.first = 4;
    state.asked = [];
    catchUp(mirror);
    expect(state.asked).toEqual([0]);
    state.asked = [];
    state.changes = [];
    catchUp(mirror);
    expect([state.asked, mirror.lag()]).toEqual([[0], { behind: 0, ms: 0 }]);
    // The mark of a change that was pruned is not trusted.
    change("1", "1", "1", "1", "1");
    state.first = 5;
    writeMark(files, { version: 1, synced: 2, change: "c2", at: 1, clean: true });
    state.asked = [];
    catchUp(open());
    expect(state.asked).toEqual([0]);
  });
});

describe("a change", () => {
  /** What a change that touches this makes the mirror write. */
  const written = (touched: string, given: Partial<ReturnType<typeof world>["state"]>): readonly string[] => {
    const { state, files, open, change } = world();
    change("0");
    const mirror = open();
    catchUp(mirror);
    mirror.sync();
    const before = new Map(files.paths().map((path) => [path, files.text(path)]));
    Object.assign(state, given);
    change(touched);
    catchUp(mirror);
    return files.paths().filter((path) => files.text(path) !== before.get(path) && path !== "mirror.json");
  };

  test.each([
    ["subagents", { subagents: [{ runId: "r" }] }, "subagents/runs.json"],
    ["budgets", { budgets: { version: 1 } }, "budgets.json"],
    ["jobs", { jobs: [{ id: "j" }] }, "cron/jobs.json"],
    ["job:j%3A1", { jobs: [{ id: "j:1" }] }, "cron/jobs.json"],
    ["swarms", { swarms: [{ name: "s" }] }, "swarms/swarms.json"],
    ["people", { people: { people: [] } }, "people.json"],
    ["files", { files: { files: [] } }, "files.json"],
    ["slot:j%201:due", { slots: new Map([["j 1/due", '{"slot":1}']]) }, "cron/runs.jsonl"],
    ["slots", { slots: new Map([["j/due", '{"slot":1}']]) }, "cron/runs.jsonl"],
  ])("of %s writes their file and no other", (touched, given, path) => {
    const paths = written(touched, given as never);
    expect(paths.map((one) => one.split("/").at(-1))).toEqual([path.split("/").at(-1)]);
    expect(written("other", given as never)).toEqual([]);
  });

  test("of an agent writes that agent's files; a word that is no number is none", () => {
    expect(written("2", { agents: 3 }).every((path) => path.includes("0002/"))).toBe(true);
    expect(written("2", { agents: 3 }).length).toBeGreaterThan(0);
    for (const word of ["0", "-1", "1.5", "x"]) expect(written(word, { agents: 3 }), word).toEqual([]);
  });

  test("writes a registry once, and no registry that never had anything", () => {
    for (const word of ["swarms", "budgets", "people", "files", "slot:j:due"])
      expect(written(word, {}), word).toEqual([]);
  });

  test.each<[string, object, string, object]>([
    [
      "subagents",
      { subagents: [{ runId: "r", task: "t" }] },
      "subagents/runs.json",
      { version: 2, runs: { r: { runId: "r", task: "t" } } },
    ],
    ["swarms", { swarms: [{ name: "s" }] }, "swarms/swarms.json", { version: 1, swarms: [{ name: "s" }] }],
    ["budgets", { budgets: { version: 1, x: 1 } }, "budgets.json", { version: 1, x: 1 }],
    ["people", { people: { people: [1] } }, "people.json", { people: [1] }],
    ["files", { files: { files: [1] } }, "files.json", { files: [1] }],
  ])(
    "of %s has a version that a rebuild knows, waits for a flush, and is not written again unchanged",
    (word, given, path, text) => {
      const { state, files, open, change } = world();
      const mirror = open();
      catchUp(mirror);
      mirror.sync();
      Object.assign(state, given);
      change(word);
      catchUp(mirror);
      expect(JSON.parse(files.text(path) ?? "")).toEqual(text);
      expect(mirror.unsynced()).toBe(true);
      mirror.sync();
      // What was flushed outlives a power loss whatever happens.
      expect(JSON.parse(files.afterPowerLoss(() => 0.49).text(path) ?? "")).toEqual(text);
      const { calls } = files;
      change(word);
      catchUp(mirror);
      expect(files.calls).toBe(calls);
    },
  );

  test("of one of many jobs adds a line for this job, and the file of all jobs stays", () => {
    const { state, files, open, change } = world();
    state.jobs = Array.from({ length: 201 }, (_none, n) => ({ id: `j:${n}`, runs: 0 }));
    const mirror = open();
    catchUp(mirror);
    const before = files.text("cron/jobs.json");
    state.jobs[5] = { id: "j:5", runs: 1 };
    change("job:j%3A5 job:gone");
    catchUp(mirror);
    const logs = files.list("cron").filter((name) => name.endsWith(".jsonl"));
    const lines = logs.flatMap((name) => (files.text(`cron/${name}`) ?? "").split("\n").filter((line) => line !== ""));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { id: "j:5", job: { id: "j:5", runs: 1 } },
      { id: "gone", job: null },
    ]);
    expect(files.text("cron/jobs.json")).toBe(before);
  });

  test("is one of at most twenty thousand that are looked at together", () => {
    const { open, change } = world();
    const mirror = open();
    catchUp(mirror);
    change(...Array.from({ length: 20_001 }, () => "1"));
    expect(mirror.step()).toEqual({ more: true });
    expect(mirror.lag().behind).toBe(1);
    expect(mirror.step()).toEqual({ more: false });
    expect(mirror.lag().behind).toBe(0);
  });

  test("takes a registry's last entry away, and the file stays", () => {
    const { state, files, open, change } = world();
    Object.assign(state, { swarms: [{ name: "s" }], budgets: { version: 1, x: 1 }, files: { files: [1] } });
    change("swarms budgets files");
    const mirror = open();
    catchUp(mirror);
    const kept = files.paths().filter((path) => /swarms|budgets|files\.json/.test(path));
    const before = kept.map((path) => files.text(path));
    Object.assign(state, { swarms: [], budgets: undefined, files: undefined });
    change("swarms budgets files");
    catchUp(mirror);
    expect(kept).toHaveLength(3);
    for (const [index, path] of kept.entries()) expect(files.text(path), path).not.toBe(before[index]);
  });
});

describe("how far behind the files are", () => {
  test("is counted in changes, and in the time since the oldest of them", () => {
    const { state, open, change } = world();
    change("1");
    const mirror = open();
    catchUp(mirror);
    state.now += 50;
    change("1");
    state.now += 70;
    change("1");
    expect(mirror.lag()).toEqual({ behind: 2, ms: 70 });
    state.now -= 500;
    expect(mirror.lag()).toEqual({ behind: 2, ms: 0 });
    catchUp(mirror);
    expect(mirror.lag()).toEqual({ behind: 0, ms: 0 });
  });
});

describe("the results of due times", () => {
  const row = (jobId: string, slot: string, at: number, more: object = {}): string =>
    JSON.stringify({ jobId, slot, at, ...more });

  test("have a line for each change, and the last line of a slot counts", () => {
    const text = [row("a", "1", 5), "", row("b", "1", 3), "{torn", row("a", "1", 5, { end: 1 }), row("a", "2", 4)].join(
      "\n",
    );
    expect(slotsIn(text)).toEqual([
      { jobId: "b", slot: "1", at: 3 },
      { jobId: "a", slot: "2", at: 4 },
      { jobId: "a", slot: "1", at: 5, end: 1 },
    ]);
    expect(slotsIn('null\n[]\n{"jobId":"a","slot":"1"}\n{"jobId":"a","at":1}\n{"slot":"1","at":1}')).toEqual([]);
  });

  test("are written anew, with the newest only, when the file is larger than eight megabytes", () => {
    const { state, source, files } = world();
    const wrote: string[] = [];
    const mirror = jobRunsMirror(source, files, (path) => wrote.push(path));
    state.slots.set("j/1", "one");
    state.slots.set("j/2", "two");
    mirror.changed(["j:1", "j:gone"]);
    expect(files.text("cron/runs.jsonl")).toBe("\none\n");
    expect(wrote).toEqual([".", "cron", "cron/runs.jsonl"]);
    files.replace("cron/runs.jsonl", "x".repeat(8 * 1024 * 1024));
    mirror.changed(["j:1"]);
    expect(files.size("cron/runs.jsonl")).toBe(8 * 1024 * 1024 + 5);
    mirror.changed(["j:1"]);
    expect(files.text("cron/runs.jsonl")).toBe("one\ntwo\n");
  });

  test("stay as they are in a change of something else, also if the file is large", () => {
    const { state, files, open, change } = world();
    const mirror = open();
    catchUp(mirror);
    state.slots.set("j/1", "one");
    const large = "x".repeat(8 * 1024 * 1024 + 1);
    files.replace("cron/runs.jsonl", large);
    change("swarms");
    catchUp(mirror);
    expect(files.size("cron/runs.jsonl")).toBe(large.length);
    change("slot:j:1");
    catchUp(mirror);
    expect(files.text("cron/runs.jsonl")).toBe("one\n");
  });

  test("written anew are the newest five thousand", () => {
    const { source, files } = world();
    const asked: number[] = [];
    const newestSlots = (limit: number): readonly string[] => {
      asked.push(limit);
      return Array.from({ length: 6 }, (_none, index) => `row ${index}`).slice(-limit);
    };
    jobRunsMirror({ ...source, newestSlots }, files, () => {}).all();
    expect(asked).toEqual([5_000]);
    expect(files.text("cron/runs.jsonl")?.split("\n")).toHaveLength(7);
  });

  test("are emptied when none is left, and no file is made for none", () => {
    const { state, source, files } = world();
    const mirror = jobRunsMirror(source, files, () => {});
    mirror.all();
    mirror.changed(["j:gone"]);
    expect(files.paths()).toEqual([]);
    state.slots.set("j/1", "one");
    mirror.all();
    state.slots.clear();
    mirror.all();
    expect(files.text("cron/runs.jsonl")).toBe("");
  });
});

describe("what is flushed", () => {
  /** The paths that a flush names, the mark aside. */
  const flushed = (files: MemoryFiles, act: () => void): readonly string[] => {
    const paths: string[] = [];
    const sync = files.sync.bind(files);
    files.sync = (path) => {
      paths.push(path);
      sync(path);
    };
    act();
    files.sync = sync;
    // The mark flushes itself and its directory at the end.
    expect(paths.slice(-2)).toEqual(["mirror.json", "."]);
    return paths.slice(0, -2).sort();
  };
  const DIR = `agents/${agent(1).id}`;

  test("of a new agent is all of its files and every directory on the way, and later only what changed", () => {
    const { state, files, open, change } = world();
    const mirror = open();
    catchUp(mirror);
    mirror.sync();
    state.agents = 1;
    change("1");
    catchUp(mirror);
    const names = ["descriptor.json", "pending.json", "state.json"];
    expect(flushed(files, () => mirror.sync())).toEqual([".", "agents", DIR, ...names.map((name) => `${DIR}/${name}`)]);
    files.put(`${DIR}/state.json`, "{}");
    change("1");
    catchUp(open());
    // The mirror that wrote the file knows it and does not look at it again.
    catchUp(mirror);
    expect(flushed(files, () => mirror.sync())).toEqual([]);
  });

  test("of an agent whose files are there is only what differs, in a comparison of all agents too", () => {
    const { state, files, open, change } = world();
    state.agents = 1;
    change("1");
    catchUp(open());
    const same = open();
    catchUp(same);
    expect(flushed(files, () => same.close()).filter((path) => path.startsWith("agents"))).toEqual([]);
    files.put("mirror.json", "torn");
    files.put(`${DIR}/state.json`, "{}");
    const other = open();
    catchUp(other);
    expect(flushed(files, () => other.close()).filter((path) => path.startsWith("agents"))).toEqual([
      DIR,
      `${DIR}/state.json`,
    ]);
  });

  test("of a removed agent is the directory that held it", () => {
    const { state, source, files, open, change } = world();
    state.agents = 1;
    change("1");
    const mirror = open();
    catchUp(mirror);
    mirror.sync();
    Object.assign(source, { agent: (no: number) => ({ ...agent(no), stopped: '{"removed":true}' }) });
    change("1");
    catchUp(mirror);
    expect(files.list("agents")).toEqual([]);
    expect(flushed(files, () => mirror.sync())).toEqual(["agents"]);
  });
});

test("files without a mark are behind by every change, until all agents were compared", () => {
  const { state, open, change } = world();
  change("1", "1", "1");
  state.now += 20;
  const mirror = open();
  expect([mirror.lag(), mirror.unsynced()]).toEqual([{ behind: 3, ms: 20 }, false]);
  catchUp(mirror);
  expect(mirror.lag()).toEqual({ behind: 0, ms: 0 });
});
