/** What a broken database still has and the plain files lack: it is taken only if it fits, all or nothing per agent. */
import { describe, expect, test } from "vitest";
import type { AgentId } from "../../../core/ids.ts";
import { openDatabase } from "../sqlite/database.ts";
import { agentPaths } from "./file-format.ts";
import { writeMark } from "./mark-file.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { openMirror } from "./mirror.ts";
import { salvage } from "./salvage.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { Workload } from "./workload.test-kit.ts";

/** Ann and Bob, whose files are up to date, and lines that Ann got afterwards. */
function world(more = 2) {
  const db = openDatabase(":memory:");
  const work = new Workload(db);
  const files = new MemoryFiles();
  const [ann, bob] = [work.agent("ann"), work.agent("bob")];
  const add = (agentId: AgentId, count: number): void => {
    work.commit([{ op: "agent.claim", agentId, node: work.node }]);
    for (let n = 0; n < count; n++) work.commit([work.append(agentId, { type: "someday", n })], work.owner(agentId));
  };
  add(ann, 2);
  const mirror = openMirror({ source: sqliteSource(db.sql), files, now: () => work.now });
  while (mirror.step().more);
  mirror.close();
  const history = agentPaths(ann).history;
  const before = files.text(history) ?? "";
  add(ann, more);
  const run = () => salvage(db.sql, files);
  return { db, work, files, ann, bob, history, before, run };
}
const linesOf = (text: string | undefined): number => (text ?? "").split("\n").length - 1;

describe("a broken database", () => {
  test("gives the lines that the files lack, of the agents that changed since the mark", () => {
    const { files, history, before, run } = world();
    expect(run()).toEqual({ agents: 1, lines: 2, failed: [] });
    expect(files.text(history)?.startsWith(before)).toBe(true);
    expect(linesOf(files.text(history))).toBe(linesOf(before) + 2);
    expect(run()).toEqual({ agents: 1, lines: 0, failed: [] });
  });

  test("without a mark is asked for every agent, and one that the files do not know at all comes whole", () => {
    const { files, ann, bob, run } = world();
    files.remove("mirror.json");
    files.remove(agentPaths(bob).dir);
    expect(run()).toMatchObject({ agents: 2, failed: [] });
    for (const agentId of [ann, bob])
      for (const path of ["descriptor", "state", "pending"] as const)
        expect(files.text(agentPaths(agentId)[path]), path).toBeDefined();
  });

  test("names an agent that would be written elsewhere: it is refused, and nothing outside its place is written", () => {
    const { db, files, run } = world();
    db.run("UPDATE agents SET id = '../../elsewhere' WHERE no = 1");
    const before = files.paths();
    const report = run();
    expect([report.agents, report.failed.length]).toEqual([0, 1]);
    expect(report.failed[0]?.reason).toContain("is not the id of an agent");
    expect(files.paths()).toEqual(before);
  });

  test("whose tables are gone gives nothing, and says so for each", () => {
    const { db, run } = world();
    db.sql.exec("ALTER TABLE changes RENAME TO gone; ALTER TABLE agents RENAME TO gone_too");
    const { agents, lines, failed } = run();
    expect([agents, lines, failed.map(({ what }) => what)]).toEqual([0, 0, ["changes", "agents"]]);
  });

  test("is asked for every agent in any number of changes since the mark, and for none that does not exist", () => {
    const { db, files, bob, run } = world(0);
    const insert = db.sql.prepare("INSERT INTO changes (id, at, touched) VALUES (?, 1, ?)");
    for (let n = 0; n < 1_100; n++) insert.run(`more ${n}`, "jobs job:x 0 -1 99");
    insert.run("the last", "2");
    files.remove(agentPaths(bob).state);
    expect(run()).toEqual({ agents: 1, lines: 0, failed: [] });
    expect(files.text(agentPaths(bob).state)).toBeDefined();
  });

  test("adds a descriptor that is missing, and leaves one that is there as it is", () => {
    const { files, ann, run } = world();
    const { descriptor } = agentPaths(ann);
    const written = files.text(descriptor) ?? "";
    files.put(descriptor, JSON.stringify(JSON.parse(written)));
    run();
    expect(files.text(descriptor)).toBe(JSON.stringify(JSON.parse(written)));
    files.remove(descriptor);
    run();
    expect(files.text(descriptor)).toBe(written);
  });

  test("from which the files were not written says so, and is asked for every agent all the same", () => {
    const { files, run } = world();
    writeMark(files, { version: 1, synced: 3, change: "another", at: 1, clean: true });
    const { agents, failed } = run();
    expect([agents, failed.map(({ what }) => what)]).toEqual([2, ["changes"]]);
  });

  test("completes a torn last line, and keeps what stood there", () => {
    const { files, history, run } = world();
    files.append(history, '{"torn');
    expect(run()).toMatchObject({ agents: 1, lines: 2 });
    expect(files.text(`${history}.torn`)).toBe('{"torn\n');
    expect(files.text(history)).not.toContain("torn");
  });

  test("loses no torn line when the process dies at any call, and completes the rest the next time", () => {
    for (let call = 1; call <= 4; call++) {
      const { files, history, run } = world();
      files.append(history, '{"torn');
      files.fault = { call: files.calls + call, how: "before" };
      run();
      files.fault = undefined;
      expect(`${files.text(history)}${files.text(`${history}.torn`)}`, `call ${call}`).toContain('{"torn');
      expect(run()).toMatchObject({ agents: 1, failed: [] });
      expect(files.text(history)).not.toContain("torn");
    }
  });

  test.each<[string, (given: ReturnType<typeof world>) => void]>([
    ["has fewer lines than the file", ({ files, history }) => files.append(history, "{}\n{}\n{}\n{}\n{}\n")],
    ["has another last line", ({ files, history, before }) => files.replace(history, before.replace('"n":1', '"n":7'))],
    ["lost a line", ({ db }) => db.run("DELETE FROM entries WHERE pos = (SELECT max(pos) FROM entries)")],
    [
      "lost a line in between",
      ({ db }) => db.run("DELETE FROM entries WHERE pos = (SELECT max(pos) FROM entries) - 1"),
    ],
    [
      "has a line that is none",
      ({ db }) => db.run("UPDATE entries SET line = '{' WHERE pos = (SELECT max(pos) FROM entries)"),
    ],
    ["has a state that is none", ({ db }) => db.run("UPDATE agents SET state = '{\"version\":99}'")],
    ["has counters that are none", ({ db }) => db.run("UPDATE agents SET next_seq = 0")],
    ["has a descriptor that is none", ({ db }) => db.run("UPDATE agents SET descriptor = '{}'")],
  ])("that %s gives nothing of this agent, and its files stay as they are", (_what, breaks) => {
    const given = world();
    breaks(given);
    const before = given.files.paths().map((path) => [path, given.files.text(path)]);
    const report = given.run();
    expect([report.agents, report.lines, report.failed.length]).toEqual([0, 0, 1]);
    expect(given.files.paths().map((path) => [path, given.files.text(path)])).toEqual(before);
  });
});
