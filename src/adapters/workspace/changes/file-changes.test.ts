/** Kept changes: nothing is written without its history, a crash at any place leaves a lawful state, and each change can be undone. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { homePaths } from "../../../config/paths.ts";
import type { ChangeAuthor } from "../../../core/file-change.ts";
import type { ChangeLimits } from "./change-journal.ts";
import type { FileChanges } from "./file-changes.ts";
import { openFileChanges } from "./open-file-changes.ts";

const OWNER: ChangeAuthor = { person: "owner", surface: "api" };
let home: string;
let changes: FileChanges;
const at = (name: string): string => join(home, name);
const read = (name: string): string => readFileSync(at(name), "utf8");
const reopen = (limits?: ChangeLimits): FileChanges => {
  const paths = homePaths(home);
  changes = openFileChanges({ paths, roots: () => [paths.workspace], now: () => 1_000, limits });
  return changes;
};
const journal = (): string => at("changes/journal.jsonl");

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-changes-"));
  mkdirSync(at("workspace/memory"), { recursive: true });
  mkdirSync(at("people/ann"), { recursive: true });
  reopen();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("which files", () => {
  it.each([
    ["workspace/AGENTS.md", "prompt"],
    ["workspace/helper/SOUL.md", "prompt"],
    ["workspace/cron/a/TASK.md", "prompt"],
    ["workspace/MEMORY.md", "memory"],
    ["workspace/Memory.MD", "memory"],
    ["workspace/memory/2026-01-05.md", "memory"],
    ["workspace/skills/x/SKILL.md", "skill"],
    ["people/ann/USER.md", "prompt"],
    ["people/ann/MEMORY.md", "memory"],
    ["rookery.json5", "config"],
  ])("%s is a file of the kind %s", async (file, kind) => {
    expect(await changes.current(file)).toMatchObject({ file, kind, text: null, version: null });
  });

  it.each([
    "workspace/notes.txt",
    "auth.json",
    "token",
    "../x/AGENTS.md",
    "/etc/passwd",
    "people/MEMORY.md",
    "agents/AGENTS.md",
  ])("%s is none of them", (file) =>
    expect(changes.current(file)).rejects.toThrow(/is not a file whose changes are kept/),
  );
});

describe("a change", () => {
  it("is kept with its author, the reason and both versions, and the latest comes first", async () => {
    await changes.write("workspace/SOUL.md", "calm\n", { by: OWNER, why: "first" });
    const made = await changes.write("workspace/SOUL.md", "kind\n", { by: { ...OWNER, person: "ann" } });
    expect(made).toMatchObject({
      id: 2,
      kind: "prompt",
      file: "workspace/SOUL.md",
      by: { person: "ann" },
      state: "done",
    });
    expect(await changes.list({ limit: 10 })).toMatchObject([{ id: 2 }, { id: 1, why: "first", before: null }]);
    expect(await changes.textsOf(await changes.get(2))).toEqual({ before: "calm\n", after: "kind\n" });
    expect(await changes.list({ limit: 1, before: 2 })).toMatchObject([{ id: 1 }]);
    expect(await changes.list({ limit: 9, kind: "memory" })).toEqual([]);
  });

  it("that changes nothing is not kept", async () => {
    await changes.write("workspace/SOUL.md", "calm\n", { by: OWNER });
    expect(await changes.write("workspace/SOUL.md", "calm\n", { by: OWNER })).toBeUndefined();
    expect(await changes.list({ limit: 10 })).toHaveLength(1);
  });

  it("is refused if the file is not the one that was read", async () => {
    writeFileSync(at("workspace/SOUL.md"), "other\n");
    const write = changes.write("workspace/SOUL.md", "mine\n", { by: OWNER, expect: null });
    await expect(write).rejects.toMatchObject({ code: "conflict" });
    expect(read("workspace/SOUL.md")).toBe("other\n");
    expect(await changes.list({ limit: 10 })).toEqual([]);
  });

  it("made outside of the program stands between two others, so that no version is missing", async () => {
    await changes.write("workspace/SOUL.md", "one\n", { by: OWNER });
    writeFileSync(at("workspace/SOUL.md"), "by an editor\n");
    await changes.write("workspace/SOUL.md", "two\n", { by: OWNER });
    const rows = (await changes.list({ limit: 10 })).toReversed();
    expect(rows.map(({ by }) => by.surface)).toEqual(["api", "outside", "api"]);
    for (const [index, row] of rows.entries()) {
      if (index > 0) expect(row.before).toEqual(rows[index - 1]?.after);
    }
  });

  it("through a link that leads out is refused", async () => {
    writeFileSync(at("outside.md"), "secret\n");
    symlinkSync(at("outside.md"), at("workspace/AGENTS.md"));
    await expect(changes.write("workspace/AGENTS.md", "x\n", { by: OWNER })).rejects.toThrow();
    expect(read("outside.md")).toBe("secret\n");
  });

  it("of two at the same time loses none: each sees what the other one has written", async () => {
    const texts = Array.from({ length: 8 }, (_, n) => `text ${n}\n`);
    await Promise.all(texts.map((text) => changes.write("workspace/MEMORY.md", text, { by: OWNER })));
    const rows = (await changes.list({ limit: 20 })).toReversed();
    expect(rows).toHaveLength(8);
    for (const [index, row] of rows.entries()) {
      expect(row.before).toEqual(index === 0 ? null : rows[index - 1]?.after);
    }
  });
});

describe("undo", () => {
  it("puts the content from before back, is a change itself and can be undone", async () => {
    await changes.write("workspace/USER.md", "one\n", { by: OWNER });
    await changes.write("workspace/USER.md", "two\n", { by: OWNER });
    const undone = await changes.undo(2, OWNER);
    expect(read("workspace/USER.md")).toBe("one\n");
    expect(undone).toMatchObject({ id: 3, undoes: 2, state: "done" });
    expect(await changes.get(2)).toMatchObject({ undoneBy: 3 });
    await changes.undo(3, OWNER);
    expect(read("workspace/USER.md")).toBe("two\n");
  });

  it("removes a file that the change has made, and makes one again that it has removed", async () => {
    await changes.write("workspace/memory/a.md", "one\n", { by: OWNER });
    await changes.undo(1, OWNER);
    expect(readdirSync(at("workspace/memory"))).toEqual([]);
    await changes.undo(2, OWNER);
    expect(read("workspace/memory/a.md")).toBe("one\n");
  });

  it("asked for twice happens once", async () => {
    await changes.write("workspace/USER.md", "one\n", { by: OWNER });
    await changes.write("workspace/USER.md", "two\n", { by: OWNER });
    const [first, second] = [await changes.undo(2, OWNER), await changes.undo(2, OWNER)];
    expect(second.id).toBe(first.id);
  });

  it("is refused if the file was changed since, and says which changes come first", async () => {
    for (const text of ["one\n", "two\n", "three\n"]) await changes.write("workspace/USER.md", text, { by: OWNER });
    await expect(changes.undo(2, OWNER)).rejects.toMatchObject({ hint: expect.stringContaining("latest first: 3") });
    expect(read("workspace/USER.md")).toBe("three\n");
    writeFileSync(at("workspace/USER.md"), "by an editor\n");
    await expect(changes.undo(3, OWNER)).rejects.toMatchObject({ code: "conflict" });
    expect(read("workspace/USER.md")).toBe("by an editor\n");
  });
});

describe("after a crash", () => {
  it("between the change and the file, the change was not made, and the file is as before", async () => {
    await changes.write("workspace/SOUL.md", "one\n", { by: OWNER });
    const path = at("workspace/SOUL.md");
    // The process ends inside of the write: nothing after it happens.
    void changes.around({ path, after: "two\n", by: OWNER }, () => new Promise(() => {}));
    while (!readFileSync(journal(), "utf8").includes('"id":2')) await new Promise((resolve) => setImmediate(resolve));
    reopen();
    expect(await changes.list({ limit: 10 })).toMatchObject([
      { id: 2, state: "failed" },
      { id: 1, state: "done" },
    ]);
    await expect(changes.undo(2, OWNER)).rejects.toMatchObject({ code: "conflict" });
    expect((await changes.write("workspace/SOUL.md", "three\n", { by: OWNER }))?.before).toEqual(
      (await changes.get(1)).after,
    );
  });

  it("between the file and the end of the change, the change was made and can be undone", async () => {
    await changes.write("workspace/SOUL.md", "one\n", { by: OWNER });
    const path = at("workspace/SOUL.md");
    void changes.around({ path, after: "two\n", by: OWNER }, () => {
      writeFileSync(path, "two\n");
      return new Promise(() => {});
    });
    while (!readFileSync(path, "utf8").includes("two")) await new Promise((resolve) => setImmediate(resolve));
    reopen();
    expect(await changes.get(2)).toMatchObject({ state: "done" });
    await changes.undo(2, OWNER);
    expect(read("workspace/SOUL.md")).toBe("one\n");
  });

  it("a torn last line hides nothing that came before it or comes after it", async () => {
    await changes.write("workspace/SOUL.md", "one\n", { by: OWNER });
    appendFileSync(journal(), '\n{"change":{"id":2,"at":1');
    reopen();
    await changes.write("workspace/SOUL.md", "two\n", { by: OWNER });
    reopen();
    expect(await changes.list({ limit: 10 })).toMatchObject([
      { id: 2, state: "done" },
      { id: 1, state: "done" },
    ]);
  });

  it("nothing is written without its history: if that cannot be stored, the file stays as it is", async () => {
    await changes.write("workspace/SOUL.md", "one\n", { by: OWNER });
    rmSync(journal());
    mkdirSync(journal());
    await expect(changes.write("workspace/SOUL.md", "two\n", { by: OWNER })).rejects.toThrow();
    expect(read("workspace/SOUL.md")).toBe("one\n");
  });
});

describe("bounds", () => {
  it("keeps the latest changes of a file, and removes contents that no change names", async () => {
    reopen({ rows: 50, ofFile: 4, bytes: 1_000, spare: 2 });
    await changes.write("workspace/SOUL.md", "calm\n", { by: OWNER });
    for (let n = 0; n < 10; n++) await changes.write("workspace/MEMORY.md", `${n}\n`, { by: OWNER });
    const kept = (await changes.list({ limit: 100, file: "workspace/MEMORY.md" })).length;
    expect(kept).toBeGreaterThanOrEqual(4);
    expect(kept).toBeLessThanOrEqual(5);
    expect(readdirSync(at("changes/versions")).length).toBeLessThanOrEqual(kept + 2);
    reopen();
    expect(await changes.get(1)).toMatchObject({ file: "workspace/SOUL.md" });
    await changes.undo(11, OWNER);
    expect(read("workspace/MEMORY.md")).toBe("8\n");
  });

  it("keeps no more bytes of versions than it may", async () => {
    reopen({ rows: 50, ofFile: 50, bytes: 25, spare: 1 });
    for (const text of ["a", "b", "c", "d"]) await changes.write("workspace/MEMORY.md", text.repeat(10), { by: OWNER });
    expect(await changes.list({ limit: 10 })).toMatchObject([{ id: 4 }]);
  });

  it("forgets a person: the changes of this person's files and their contents are gone, all others stay", async () => {
    await changes.write("people/ann/MEMORY.md", "ann's secret\n", { by: OWNER });
    await changes.write("workspace/MEMORY.md", "mine\n", { by: OWNER });
    await changes.forget("ann");
    reopen();
    expect(await changes.list({ limit: 10 })).toMatchObject([{ file: "workspace/MEMORY.md" }]);
    const texts = readdirSync(at("changes/versions")).map((name) => read(`changes/versions/${name}`));
    expect(texts).toEqual(["mine\n"]);
  });
});
