/** When a node with `--mirror` looks at a shared database, what each look reads, and which files it writes. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../../core/ports/log.ts";
import type { Statement } from "../postgres/batched-reads.ts";
import type { PostgresStore } from "../postgres/open-store.ts";
import { followShared, type SharedMirror } from "./follow-shared.ts";

let home = "";
let running: SharedMirror[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-follow-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(async () => {
  for (const mirror of running) await mirror.stop();
  running = [];
  vi.useRealTimers();
  rmSync(home, { recursive: true, force: true });
});

const idOf = (n: number): string => `a${String(n).padStart(23, "0")}`;
const agentRow = (id: string) => ({
  ...{ no: 1, id, session_key: `key of ${id}`, profile: "main", person: null, descriptor: "{}", created_at: 1 },
  ...{ session_id: "s", next_seq: 1, cursor: 0, next_pos: 0, leaf: null, run_id: null, last_human_at: null },
  ...{ stopped: null, state: "{}", asks: false },
});

/** A shared database that is a few lists: what was touched since the mark, and what each look asked for. */
function world() {
  const state = {
    before: "1",
    touched: new Map<string, number>(),
    agents: [] as string[],
    lists: {} as Record<string, readonly object[]>,
    revision: 0,
    asked: [] as string[],
    warned: [] as string[],
    failing: false,
    failingLists: false,
    gate: Promise.resolve(),
    listGate: Promise.resolve(),
  };
  const list = (name: string) => async () => {
    state.asked.push(name);
    await state.listGate;
    if (state.failingLists) throw new Error("the database is away");
    return state.lists[name] ?? [];
  };
  const store = {
    connections: {
      use: async (_what: string, act: (client: { query(text: string): Promise<void> }) => Promise<void>) =>
        act({ query: async (text) => void state.asked.push(text.slice(0, 12)) }),
      async one(statement: Statement, id: string) {
        if (statement.name === "changes-xmin") {
          state.asked.push("look");
          await state.gate;
          if (state.failing) throw new Error("the database is away");
          return { before: state.before };
        }
        state.asked.push(statement.name);
        return statement.name === "mirror-agent" && state.agents.includes(id) ? agentRow(id) : undefined;
      },
      async all(statement: Statement, from: string) {
        if (statement.name !== "touched-since") return state.lists[statement.name] ?? [];
        state.asked.push(`since ${from}`);
        return [...state.touched].map(([word, changes]) => ({ word, changes }));
      },
    },
    async agents({ after, limit }: { after?: string; limit: number }) {
      state.asked.push(`agents after ${after}`);
      const from = after === undefined ? 0 : state.agents.indexOf(after) + 1;
      return state.agents.slice(from, from + limit).map((id) => ({ id }));
    },
    jobs: list("jobs"),
    subagentRuns: list("subagentRuns"),
    budgets: list("budgets"),
    reservations: list("reservations"),
    swarms: list("swarms"),
    people: list("people"),
    files: list("files"),
    rightsRevision: async () => state.revision,
    fact: async () => undefined,
  } as unknown as PostgresStore;
  const log = { ...silentLog, warn: (text: string) => void state.warned.push(text) };
  const follow = async (everyMs?: number): Promise<SharedMirror> => {
    const mirror = await followShared({ home, store, log, everyMs });
    running.push(mirror);
    return mirror;
  };
  const touch = (...words: readonly string[]): void => {
    for (const word of words) state.touched.set(word, (state.touched.get(word) ?? 0) + 1);
  };
  return { state, follow, touch };
}
const looks = (asked: readonly string[]): number => asked.filter((what) => what === "look").length;
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
};
const json = (...path: string[]): unknown => JSON.parse(readFileSync(join(home, ...path), "utf8"));

describe("a node that follows a shared database", () => {
  test("creates the index it needs, looks at once, then every second, and not again after it stopped", async () => {
    const { state, follow } = world();
    const mirror = await follow();
    expect(state.asked[0]).toBe("CREATE INDEX");
    await mirror.flush();
    const first = looks(state.asked);
    await settled();
    await vi.advanceTimersByTimeAsync(999);
    expect(looks(state.asked)).toBe(first);
    await vi.advanceTimersByTimeAsync(1);
    expect(looks(state.asked)).toBe(first + 1);
    await settled();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(looks(state.asked)).toBe(first + 2);
    await mirror.stop();
    running = [];
    const last = looks(state.asked);
    expect(last).toBe(first + 3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([looks(state.asked), vi.getTimerCount()]).toEqual([last, 0]);
  });

  test("that stops in the middle of a look makes a last one, and plans no other", async () => {
    const { state, follow } = world();
    for (const isFirst of [true, false]) {
      const opened = Promise.withResolvers<void>();
      if (isFirst) state.gate = opened.promise;
      const mirror = await follow(10);
      if (!isFirst) {
        await mirror.flush();
        await settled();
        state.gate = opened.promise;
        await vi.advanceTimersByTimeAsync(10);
      }
      const stopping = mirror.stop();
      opened.resolve();
      await stopping;
      await settled();
      running = [];
      expect(vi.getTimerCount()).toBe(0);
      state.gate = Promise.resolve();
    }
  });

  test("says that a look failed and repeats its work, but says nothing once it stops", async () => {
    const { state, follow, touch } = world();
    const mirror = await follow(10);
    await mirror.flush();
    await settled();
    state.failing = true;
    touch("jobs");
    state.lists.jobs = [{ id: "j" }];
    await vi.advanceTimersByTimeAsync(10);
    expect(state.warned).toEqual([expect.stringContaining("trying again")]);
    state.failing = false;
    await settled();
    await vi.advanceTimersByTimeAsync(10);
    expect(json("cron", "jobs.json")).toEqual({ version: 1, jobs: [{ id: "j" }] });
    state.failing = true;
    await mirror.stop();
    running = [];
    expect(state.warned).toHaveLength(1);
  });
});

test("what a look could not finish is done by the next one, also if nothing changed since", async () => {
  const { state, follow, touch } = world();
  const mirror = await follow(3_600_000);
  await mirror.flush();
  state.lists.jobs = [{ id: "j" }];
  touch("jobs");
  state.failingLists = true;
  await mirror.flush();
  expect(state.warned).toHaveLength(1);
  expect(json("cron", "jobs.json")).toEqual({ version: 1, jobs: [] });
  state.failingLists = false;
  await mirror.flush();
  expect(json("cron", "jobs.json")).toEqual({ version: 1, jobs: [{ id: "j" }] });
});

describe("the first look", () => {
  test("compares every agent, page by page, and every registry", async () => {
    const { state, follow } = world();
    state.agents = Array.from({ length: 501 }, (_none, n) => idOf(n + 1));
    state.lists.jobs = [{ id: "j" }];
    const mirror = await follow();
    await mirror.flush();
    expect(readdirSync(join(home, "agents"))).toEqual(state.agents);
    expect(state.asked.filter((what) => what.startsWith("agents after"))).toEqual([
      "agents after undefined",
      `agents after ${idOf(500)}`,
      `agents after ${idOf(501)}`,
    ]);
    expect(json("cron", "jobs.json")).toEqual({ version: 1, jobs: [{ id: "j" }] });
  });

  test("makes no file for what never was: budgets, swarms, people, files", async () => {
    const { follow } = world();
    await (await follow()).flush();
    expect(readdirSync(home).sort()).toEqual(["cron", "subagents"]);
    expect(json("subagents", "runs.json")).toEqual({ version: 2, runs: {} });
  });
});

describe("a later look", () => {
  const file = { id: "f", sha: "0", name: "n", mimeType: "text/plain", size: 1, blob: "b", createdAt: 1 };
  test.each<[string, string, string, object]>([
    ["subagents", "subagentRuns", "subagents/runs.json", { runId: "r" }],
    ["budgets", "budgets", "budgets.json", { key: "day:x" }],
    ["swarms", "swarms", "swarms/swarms.json", { nametag: "desk" }],
    ["people", "people", "people.json", { id: "ann", role: "guest", accounts: [], grants: [] }],
    ["files", "files", "files.json", file],
    ["jobs", "jobs", "cron/jobs.json", { id: "j" }],
    ["job:j", "jobs", "cron/jobs.json", { id: "j" }],
  ])("at a change of %s reads %s and writes %s only", async (word, listed, path, record) => {
    const { state, follow, touch } = world();
    const mirror = await follow(3_600_000);
    await mirror.flush();
    const before = new Map(readdirSync(home, { recursive: true }).map((name) => [String(name), ""]));
    state.lists[listed] = [record];
    state.revision = 1;
    state.asked = [];
    touch(word);
    await mirror.flush();
    expect(state.asked.filter((what) => what !== "reservations")).toEqual(["look", "since 1", listed]);
    expect(JSON.stringify(json(path))).toContain(JSON.stringify(Object.values(record)[0]));
    if (word === "subagents") expect(json(path)).toEqual({ version: 2, runs: { r: record } });
    if (word === "swarms") expect(json(path)).toEqual({ version: 1, swarms: [record] });
    const made = readdirSync(home, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    for (const { parentPath, name } of made) {
      const relative = join(parentPath, name).slice(home.length + 1);
      if (relative !== path) expect(before.has(relative), relative).toBe(true);
    }
    // The last one goes: the file stays, without it.
    state.lists[listed] = [];
    touch(word);
    await mirror.flush();
    expect(JSON.stringify(json(path))).not.toContain(JSON.stringify(Object.values(record)[0]));
  });

  test("writes the agents that changed, and takes no other word for an agent", async () => {
    const { state, follow, touch } = world();
    state.agents = [];
    const mirror = await follow(3_600_000);
    await mirror.flush();
    state.agents = [idOf(1), idOf(2)];
    state.asked = [];
    touch(idOf(1), "short", `${idOf(1)}-`, "A".repeat(24), "slot:j:1", "x".repeat(33));
    await mirror.flush();
    expect(readdirSync(join(home, "agents"))).toEqual([idOf(1)]);
    expect(state.asked).toEqual(["look", "since 1", "mirror-agent"]);
  });

  test("follows a word again only if it has more changes, or if the mark has moved", async () => {
    const { state, follow, touch } = world();
    const mirror = await follow(3_600_000);
    await mirror.flush();
    const reads = async (): Promise<number> => {
      state.asked = [];
      await mirror.flush();
      return state.asked.filter((what) => what === "jobs").length;
    };
    touch("jobs");
    expect([await reads(), await reads()]).toEqual([1, 0]);
    touch("jobs");
    expect([await reads(), await reads()]).toEqual([1, 0]);
    // From the next mark on changes are counted anew.
    state.before = "9";
    expect(await reads()).toBe(0);
    state.touched.clear();
    touch("jobs", "jobs");
    expect([await reads(), await reads()]).toEqual([1, 0]);
    expect(state.asked).toContain("since 9");
  });

  test("leaves a file that is right as it is, and writes one again that somebody changed", async () => {
    const { state, follow, touch } = world();
    state.lists.jobs = [{ id: "j" }];
    const mirror = await follow(3_600_000);
    await mirror.flush();
    const path = join(home, "cron", "jobs.json");
    const { ino } = statSync(path);
    touch("jobs");
    await mirror.flush();
    expect(statSync(path).ino).toBe(ino);
    writeFileSync(path, "something else");
    touch("jobs");
    await mirror.flush();
    expect(json("cron", "jobs.json")).toEqual({ version: 1, jobs: [{ id: "j" }] });
    rmSync(join(home, "cron"), { recursive: true });
    touch("jobs");
    await mirror.flush();
    expect(existsSync(path)).toBe(true);
  });

  test("names who holds a stored file", async () => {
    const { state, follow, touch } = world();
    const mirror = await follow(3_600_000);
    await mirror.flush();
    state.lists.files = [file, { ...file, id: "g" }];
    state.lists["select-file-holds"] = [
      { file: "f", holder: "agent:a" },
      { file: "f", holder: "delivery:d" },
    ];
    touch("files");
    await mirror.flush();
    expect(json("files.json")).toMatchObject({
      files: [
        { file: { id: "f" }, holders: ["agent:a", "delivery:d"] },
        { file: { id: "g" }, holders: [] },
      ],
    });
  });
});

describe("a look at everything", () => {
  test("reads one registry after the other, and is done when the last one is written", async () => {
    const { state, follow } = world();
    const opened = Promise.withResolvers<void>();
    state.listGate = opened.promise;
    const mirror = await follow();
    let isDone = false;
    const flushed = mirror.flush().then(() => (isDone = true));
    await settled();
    expect([state.asked.at(-1), isDone]).toEqual(["jobs", false]);
    state.lists.files = [{ id: "file_1" }];
    opened.resolve();
    await flushed;
    const registries = ["jobs", "subagentRuns", "budgets", "swarms", "files"];
    expect(state.asked.filter((name) => registries.includes(name)).slice(0, 5)).toEqual(registries);
    expect(json("files.json")).toMatchObject({ files: [{ file: { id: "file_1" }, holders: [] }] });
  });
});
