/** Registries from their plain files: each valid item counts, a broken one is named and its file is kept. */
import { dirname } from "node:path/posix";
import { describe, expect, test } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { openDatabase } from "../sqlite/database.ts";
import { SUBAGENTS_FILE, SWARMS_FILE } from "./file-format.ts";
import { logRebuild } from "./log-rebuild.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import type { RestoreProblem } from "./restore-context.ts";
import {
  restoreBudgets,
  restoreJobRuns,
  restoreJobs,
  restoreSubagentRuns,
  restoreSwarms,
} from "./restore-registries.ts";
import { restoreStoredFiles, storedFilesIn } from "./stored-files-file.ts";
import { Workload } from "./workload.test-kit.ts";

function world(path?: string, text?: string) {
  const db = openDatabase(":memory:");
  const files = new MemoryFiles();
  if (path !== undefined && text !== undefined) {
    files.makeDir(dirname(path));
    files.replace(path, text);
  }
  const problems: RestoreProblem[] = [];
  const kept: string[] = [];
  const report = (problem: RestoreProblem): void => void problems.push(problem);
  return { db, context: { db, files, report, keep: (one: string) => void kept.push(one) }, problems, kept };
}
const none = { tokens: 0, micros: 0 };
const budget = (key: string, more: object = {}) => ({
  key,
  spent: { tokens: 1, micros: 2 },
  reserved: none,
  lifted: none,
  estimated: none,
  at: 5,
  ...more,
});
const reservation = (more: object = {}) => ({
  id: "i",
  runId: "r",
  keys: ["k"],
  cost: { tokens: 3, micros: 4 },
  at: 6,
  ...more,
});

describe("budgets from their file", () => {
  test("come back with their reservations and those who were told, also with names of one letter", () => {
    const { db, context, problems, kept } = world(
      "budgets.json",
      JSON.stringify({
        budgets: [budget("k"), budget("other")],
        reservations: [reservation()],
        told: [{ key: "k", agent: "a" }],
      }),
    );
    expect(restoreBudgets(context)).toBe(2);
    expect(db.all<{ key: string }>("SELECT key FROM budgets ORDER BY key").map(({ key }) => key)).toEqual([
      "k",
      "other",
    ]);
    expect(db.all("SELECT * FROM reservations")).toEqual([
      { id: "i", run_id: "r", keys: '["k"]', tokens: 3, micros: 4, at: 6 },
    ]);
    expect(db.all("SELECT key, agent FROM budget_told")).toEqual([{ key: "k", agent: "a" }]);
    expect(db.get("SELECT spent_tokens, spent_micros, at FROM budgets")).toEqual({
      ...{ spent_tokens: 1, spent_micros: 2, at: 5 },
    });
    expect([problems, kept]).toEqual([[], []]);
  });

  test.each([
    ["an amount that is no whole number", { budgets: [budget("k", { at: 1.5 })] }],
    ["a budget without a name", { budgets: [budget("")] }],
    ["a reservation without a name", { reservations: [reservation({ id: "" })] }],
    ["a reservation without a run", { reservations: [reservation({ runId: "" })] }],
    ["a reservation of nothing", { reservations: [reservation({ keys: [""] })] }],
    ["somebody without a name", { told: [{ key: "k", agent: "" }] }],
  ])("%s is named, the file is kept, and the rest comes back", (_what, broken) => {
    const { db, context, problems, kept } = world(
      "budgets.json",
      JSON.stringify({ ...broken, budgets: [...(("budgets" in broken && broken.budgets) || []), budget("good")] }),
    );
    expect(restoreBudgets(context)).toBe(1);
    expect(problems).toEqual([
      { file: "budgets.json", reason: "Item 1 is not valid.", consequence: "item-skipped", code: "corrupt_data" },
    ]);
    expect(new Set(kept)).toEqual(new Set(["budgets.json"]));
    expect(db.all<{ key: string }>("SELECT key FROM budgets").map(({ key }) => key)).toEqual(["good"]);
  });
});

describe("a registry", () => {
  const restores = [
    ["jobs", "cron/jobs.json", restoreJobs],
    ["children", SUBAGENTS_FILE, restoreSubagentRuns],
    ["swarms", SWARMS_FILE, restoreSwarms],
    ["budgets", "budgets.json", restoreBudgets],
    ["files", "files.json", restoreStoredFiles],
  ] as const;

  test.each(restores)(
    "of %s that is missing, or holds no list, restores nothing and is no problem",
    (_what, path, restore) => {
      const missing = world();
      expect(restore(missing.context)).toBe(0);
      const odd = world(path, '{"jobs":5,"runs":{},"swarms":"x","budgets":null,"files":{}}');
      expect(restore(odd.context)).toBe(0);
      expect([missing.problems, odd.problems, odd.kept]).toEqual([[], [], []]);
    },
  );

  test("that is not JSON is named once and kept", () => {
    const { context, problems, kept } = world("cron/jobs.json", "{torn");
    expect(restoreJobs(context)).toBe(0);
    expect(problems).toMatchObject([{ file: "cron/jobs.json", consequence: "file-skipped" }]);
    expect(kept).toEqual(["cron/jobs.json"]);
  });

  test("of results of due times is read line by line", () => {
    const slot = { jobId: "j", slot: "1@5", revision: 1, dueAt: 5, count: 1, status: "fired", at: 5 };
    const { db, context } = world("cron/runs.jsonl", `${JSON.stringify(slot)}\n{torn\n`);
    expect(restoreJobRuns(context)).toBe(1);
    expect(db.all("SELECT job, slot, at FROM job_slots")).toEqual([{ job: "j", slot: "1@5", at: 5 }]);
    expect(storedFilesIn(db)).toBeUndefined();
    expect(restoreJobRuns(world().context)).toBe(0);
  });
});

describe("the contacts of a swarm", () => {
  test("are the agents that serve it, and no agent of another kind or of a swarm that is gone", () => {
    const swarm = {
      nametag: "desk",
      owner: "o",
      profile: "main",
      firstName: "D",
      systemPrompt: "p",
      memory: false,
    };
    const { db, context } = world(SWARMS_FILE, JSON.stringify({ swarms: [{ ...swarm, createdAt: 1 }] }));
    const work = new Workload(db);
    const contact = "someone" as AgentId;
    const servant = work.agent("servant", { type: "swarm", id: "desk", contact });
    work.agent("gone", { type: "swarm", id: "gone", contact });
    work.agent("clerk", { type: "permanent", id: "desk", name: "c", description: "d", systemPrompt: "s" });
    const created = db.get<{ created_at: number }>("SELECT created_at FROM agents")?.created_at ?? 0;
    db.run(`UPDATE agents SET state = json_set(state, '$.updatedAt', ${created + 5}) WHERE no = 1`);
    expect(restoreSwarms(context)).toBe(1);
    const row = { swarm: "desk", contact, agent: servant, sent: 0, received: 0, first_at: created };
    expect(db.all("SELECT * FROM swarm_contacts")).toEqual([{ ...row, last_at: created + 5 }]);
    db.run("DELETE FROM swarm_contacts");
    db.run("UPDATE agents SET state = json_remove(state, '$.updatedAt')");
    restoreSwarms(context);
    expect(db.all("SELECT * FROM swarm_contacts")).toEqual([{ ...row, last_at: created }]);
  });
});

describe("what a rebuild could not use", () => {
  const logged = (problems: readonly object[]) => {
    const lines: string[] = [];
    const write = (level: string) => (message: string, fields: object) =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
    const log = { debug() {}, info: write("info"), warn: write("warn"), error: write("error") };
    logRebuild(log as never, { agents: 3, entries: 4, problems, gap: undefined } as never);
    return lines;
  };
  const line = (n: number) => ({ file: "f", line: n, reason: "r", consequence: "line-skipped" });
  const skipped = { file: "agents/a", reason: "r", consequence: "agent-skipped" };

  test("is logged: every agent, a hundred other problems, and how many more there are", () => {
    const hundred = Array.from({ length: 100 }, (_none, n) => line(n + 1));
    const some = logged([...hundred, skipped]);
    expect(some).toHaveLength(102);
    expect(some[0]).toBe('info rebuilt the database from the plain files {"agents":3,"entries":4,"problems":101}');
    expect(some[100]).toBe('warn in the rebuild: line skipped {"file":"f","line":100,"reason":"r"}');
    expect(some[101]).toContain("error skipped an agent");
    const many = logged([...hundred, line(101), line(102), skipped]);
    expect(many).toHaveLength(103);
    expect(many.at(-1)).toBe('warn the rebuild found more problems {"more":2}');
  });
});
