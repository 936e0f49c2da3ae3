/** Which files of an agent become rows again: each field is checked, and what cannot be used is reported, kept and left. */
import { afterAll, describe, expect, test } from "vitest";
import { CorruptDataError } from "../../../core/errors.ts";
import type { AgentId, ChangeId, Ids } from "../../../core/ids.ts";
import { openDatabase } from "../sqlite/database.ts";
import { agentPaths } from "./file-format.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";
import { openMirror } from "./mirror.ts";
import { parseJson, parsePendingFile, parseStateFile, readAgentFiles } from "./read-agent-files.ts";
import { restoreHome } from "./rebuild.ts";
import type { RestoreProblem } from "./restore-context.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { Workload } from "./workload.test-kit.ts";

const ann = "ann".padEnd(24, "0") as AgentId;
const paths = agentPaths(ann);

const db = openDatabase(":memory:");
afterAll(() => db.close());

/** The files of an agent with an open run and a delivery, as the mirror writes them. */
const mirrored = (() => {
  const work = new Workload(db);
  work.agent("ann");
  const runId = work.take(ann, [work.post(ann, "hello")]);
  work.commit([{ op: "delivery.add", delivery: work.delivery(ann, runId) }], work.owner(ann));
  const files = new MemoryFiles();
  const mirror = openMirror({ source: sqliteSource(db.sql), files, now: () => work.now });
  while (mirror.step().more);
  return files;
})();

function written(files: MemoryFiles = new MemoryFiles()): MemoryFiles {
  files.makeDir(paths.dir);
  for (const path of Object.values(paths)) if (path !== paths.dir) files.put(path, mirrored.text(path) ?? "");
  return files;
}
const jsonIn = (files: MemoryFiles, path: string): Record<string, unknown> => JSON.parse(files.text(path) ?? "");

/** A copy of a value with one field changed, named by its path. */
function changed(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = changed(copy[key], rest, to);
  return copy;
}

/** Reads them, with what was reported and kept, in this order. */
function read(files: MemoryFiles) {
  const told: string[] = [];
  const problems: RestoreProblem[] = [];
  const agent = readAgentFiles(
    {
      ...{ db, files },
      report: (problem) => {
        problems.push(problem);
        told.push(`report ${problem.file}`);
      },
      keep: (path) => void told.push(`keep ${path}`),
    },
    ann,
  );
  return { agent, problems, told };
}

describe("pending.json", () => {
  const pending = jsonIn(written(), paths.pending);
  test.each<[string, unknown]>([
    ["version", 2],
    ["profile", ""],
    ["nextSeq", 0],
    ["nextSeq", 1.5],
    ["nextPos", -1],
    ["leaf", ""],
    ["messages.0.seq", 0],
    ["messages.0.state", "answered"],
    ["messages.0.message", {}],
    ["run.id", ""],
    ["run.sessionId", ""],
    ["run.attempt", 1.5],
    ["run.body", {}],
    ["deliveries.0.id", ""],
    ["deliveries.0.state", "sent"],
    ["deliveries.0.attempts", "1"],
    ["dedupe.0", ["key", 1]],
    ["dedupe.0", [1, 1, 1]],
  ])("with the %s %j cannot be used: it is reported, then kept, and the agent goes on without it", (path, value) => {
    const files = written();
    files.put(paths.pending, JSON.stringify(changed(pending, path.split("."), value)));
    const { agent, problems, told } = read(files);
    expect(agent).toMatchObject({ id: ann, pending: undefined });
    expect(told).toEqual([`report ${paths.pending}`, `keep ${paths.pending}`]);
    expect(problems).toMatchObject([{ consequence: "file-skipped", code: "corrupt_data" }]);
  });

  test.each<[string, unknown]>([
    ["profile", "x"],
    ["nextSeq", 1],
    ["nextPos", 0],
    ["leaf", "x"],
    ["messages.0.seq", 1],
    ["messages.0.state", "waiting"],
    ["run.id", "x"],
    ["run.sessionId", "x"],
    ["deliveries.0.id", "x"],
    ["deliveries.0.state", "unroutable"],
    ["dedupe.0", ["", 0, 0]],
    ["later", "fields of a newer program stay"],
  ])("with the %s %j is used", (path, value) => {
    const text = JSON.stringify(changed(pending, path.split("."), value));
    expect(parsePendingFile(text, "x")).toEqual(JSON.parse(text));
  });

  test("that cannot be read at all ends the rebuild: nothing is decided without it", () => {
    const files = new (class extends MemoryFiles {
      override read(path: string): Buffer | undefined {
        if (path === paths.pending && this.isBroken)
          return { toString: () => expect.fail("the disk does not answer") } as unknown as Buffer;
        return super.read(path);
      }
      isBroken = false;
    })();
    written(files);
    files.isBroken = true;
    expect(() => read(files)).toThrow("the disk does not answer");
  });
});

describe("state.json", () => {
  const state = jsonIn(written(), paths.state);
  test.each<[string, unknown]>([
    ["_engine", undefined],
    ["_engine.profile", ""],
    ["_engine.sessionKey", ""],
    ["_engine.sessionId", "x"],
    ["_engine.createdAt", "now"],
    ["_engine.stopped", { at: 1 }],
    ["version", 99],
  ])("with the %s %j is refused, and with it the agent; its files stay", (path, value) => {
    const files = written();
    files.put(paths.state, JSON.stringify(changed(state, path.split("."), value)));
    const before = files.paths().map((one) => files.text(one));
    const { agent, problems } = read(files);
    expect(agent).toBeUndefined();
    expect(problems).toMatchObject([{ file: paths.state, consequence: "agent-skipped" }]);
    expect(files.paths().map((one) => files.text(one))).toEqual(before);
  });

  test("with a profile of one letter and a stop is used", () => {
    const stopped = { at: 1, reason: "r", seq: 2 };
    const text = JSON.stringify(changed(changed(state, ["_engine", "profile"], "x"), ["_engine", "stopped"], stopped));
    expect(parseStateFile(text, "x").engine).toMatchObject({ profile: "x", stopped });
  });

  test("that is missing is made up from a history that begins with a session, within its first ten lines", () => {
    for (const [before, found] of [
      [0, true],
      [8, true],
      [9, false],
    ] as const) {
      const files = written();
      files.remove(paths.state);
      const [header, ...rest] = (files.text(paths.history) ?? "").split("\n");
      const unknown = Array.from({ length: before }, (_none, n) => JSON.stringify({ type: "someday", id: `x${n}` }));
      files.put(paths.history, [header, ...unknown, ...rest].join("\n"));
      const { agent, problems } = read(files);
      expect(agent !== undefined, `${before} lines before`).toBe(found);
      expect(problems.map(({ consequence }) => consequence)).toEqual([found ? "state-lost" : "agent-skipped"]);
      // What the session has heard is not known any more.
      if (found) expect(agent?.state).toMatchObject({ state: { untrusted: true }, engine: { profile: "main" } });
    }
  });
});

describe("other files", () => {
  test.each(["descriptor", "history"] as const)(
    "an agent without its %s is skipped, and says which is missing",
    (name) => {
      const files = written();
      files.remove(paths[name]);
      const { agent, problems } = read(files);
      expect(agent).toBeUndefined();
      expect(problems).toMatchObject([{ file: paths[name], consequence: "agent-skipped", code: "corrupt_data" }]);
      expect(problems[0]?.reason).toContain("missing");
    },
  );

  test("an agent with an empty history is skipped", () => {
    const files = written();
    files.put(paths.history, "");
    expect(read(files).problems).toMatchObject([{ file: paths.history, consequence: "agent-skipped" }]);
  });

  test.each(["null", "5", '"text"', "true", "", "{"])(
    "the text %j is no object, and the error names the file",
    (text) => {
      expect(() => parseJson(text, "the file")).toThrow(CorruptDataError);
      expect(() => parseJson(text, "the file")).toThrow("the file");
    },
  );

  test.each(["{}", "[]", '{"a":1}'])("the text %j is one", (text) => {
    expect(parseJson(text, "x")).toEqual(JSON.parse(text));
  });
});

describe("a rebuild", () => {
  let changes = 0;
  const ids: Ids = { agent: () => ann, uuid: () => "u", change: () => `rebuild ${changes++}` as ChangeId };

  test("whose disk fails ends with that error: the agent is not taken for one that conflicts with another", () => {
    const files = new (class extends MemoryFiles {
      override readAt(): Buffer {
        throw Object.assign(new Error("EIO: the disk does not answer"), { code: "EIO" });
      }
    })();
    written(files);
    expect(() => restoreHome(openDatabase(":memory:"), files, { ids, now: 5 })).toThrow("EIO");
  });

  test("goes on without an agent whose key another agent has, and leaves no row of it", () => {
    const files = written();
    const bob = agentPaths("bob".padEnd(24, "0") as AgentId);
    files.makeDir(bob.dir);
    for (const name of ["descriptor", "state", "history", "pending"] as const)
      files.put(bob[name], files.text(paths[name]) ?? "");
    const empty = openDatabase(":memory:");
    const report = restoreHome(empty, files, { ids, now: 5 });
    expect(report).toMatchObject({ agents: 1, problems: [{ consequence: "agent-skipped", file: bob.dir }] });
    for (const table of ["agents", "session_keys"])
      expect(empty.sql.prepare(`SELECT count(*) AS count FROM ${table}`).get(), table).toEqual({ count: 1 });
  });
});
