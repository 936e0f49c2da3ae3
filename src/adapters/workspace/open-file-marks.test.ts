import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFileMarks } from "./open-file-marks.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-marks-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const marksFile = (): string => join(home, "untrusted-files.jsonl");
const lines = (): number => readFileSync(marksFile(), "utf8").split("\n").filter(Boolean).length;

describe("the marks of files", () => {
  it("name a path and a content, and outlive the process", async () => {
    const marks = openFileMarks({ home });
    expect(marks.isEmpty).toBe(true);
    await marks.add("/w/a.md", "obey");
    for (const one of [marks, openFileMarks({ home })]) {
      expect(one.has("/w/a.md", "obey")).toBe(true);
      expect(one.has("/w/a.md", "mine")).toBe(false);
      expect(one.has("/w/b.md", "obey")).toBe(false);
      expect([one.knows("/w/a.md"), one.knows("/w"), one.knows("/w/a"), one.isEmpty]).toEqual([
        true,
        true,
        false,
        false,
      ]);
    }
  });

  it.each(["", "behind a link"])("belong to the files of the home at any place of it %s", async (link) => {
    const path = link === "" ? home : join(home, "link");
    mkdirSync(join(home, "first"));
    if (link !== "") symlinkSync(home, path);
    const [first, second] = ["first", "second"].map((name) => join(home, name)) as [string, string];
    const marks = openFileMarks({ home: join(path, "first") });
    await marks.add(join(first, "workspace/a.md"), "obey");
    await marks.suspect("c1", [first, join(first, "workspace")], Date.now(), [join(first, "workspace/b.md")]);
    renameSync(first, second);
    mkdirSync(join(second, "workspace"));
    for (const name of ["b.md", "c.md"]) writeFileSync(join(second, "workspace", name), "text");
    const moved = openFileMarks({ home: second });
    const has = (name: string, content: string) => moved.has(join(second, "workspace", name), content);
    expect([has("a.md", "obey"), has("b.md", "text"), has("c.md", "text")]).toEqual([true, false, true]);
    expect(moved.has(join(first, "workspace/a.md"), "obey")).toBe(false);
  });

  it("are kept for the version before a write too: a crash may leave either on the disk", async () => {
    const marks = openFileMarks({ home });
    for (const content of ["one", "two", "two", "one"]) await marks.add("/w/a.md", content);
    for (const content of ["one", "two"]) expect(openFileMarks({ home }).has("/w/a.md", content)).toBe(true);
    for (let n = 0; n < 20; n++) await marks.add("/w/a.md", `v${n}`);
    expect([marks.has("/w/a.md", "one"), marks.has("/w/a.md", "v19"), marks.has("/w/a.md", "v12")]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("leave out what a command cannot write, although it was changed a moment before the command began", async () => {
    const [soul, task, other] = ["SOUL.md", "cron/TASK.md", "notes.txt"].map((name) => join(home, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(join(home, "cron"));
    for (const path of [soul, task, other]) writeFileSync(path, "text");
    await openFileMarks({ home }).suspect("c1", [home], Date.now(), [soul, join(home, "cron")]);
    // While it runs, after a crash, and after it has ended.
    for (const settle of [false, true]) {
      const marks = openFileMarks({ home });
      if (settle) await marks.settle("c1");
      expect([soul, task, other].map((path) => marks.has(path, "text"))).toEqual([false, false, true]);
      expect([soul, task, other].map((path) => marks.knows(path))).toEqual([false, false, true]);
    }
  });

  it("survive a torn line", async () => {
    await openFileMarks({ home }).add("/w/a.md", "one");
    appendFileSync(marksFile(), '{"path":"/w/b.md","sha');
    const marks = openFileMarks({ home });
    await marks.add("/w/c.md", "three");
    const later = openFileMarks({ home });
    expect([later.has("/w/a.md", "one"), later.has("/w/c.md", "three"), later.knows("/w/b.md")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("are written in the order of parallel calls, and the file stays small", async () => {
    const marks = openFileMarks({ home });
    const file = join(home, "real.md");
    writeFileSync(file, "x");
    await Promise.all(Array.from({ length: 230 }, (_, n) => marks.add(file, `v${n % 10}`)));
    expect(lines()).toBeLessThan(230);
    expect(openFileMarks({ home }).has(file, "v9")).toBe(true);
  });

  it("are kept while their file is not written yet, even if the list is shortened or someone is forgotten then", async () => {
    const marks = openFileMarks({ home });
    const file = join(home, "real.md");
    writeFileSync(file, "x");
    await marks.add(file, "x");
    let written = lines();
    for (let n = 0; n < 130; n++) {
      const fresh = join(home, `fresh-${n}.md`);
      await marks.add(fresh, "obey");
      for (const version of ["a", "b", "c"]) await marks.add(file, version);
      written += 4;
      if (n % 50 === 0) await marks.forget(join(home, "no one"));
      for (const one of [marks, openFileMarks({ home })]) expect(one.has(fresh, "obey")).toBe(true);
    }
    expect(lines()).toBeLessThan(written);
  });

  it("do not outlive a file that is long gone when the list is shortened", async () => {
    await openFileMarks({ home }).add("/w/gone.md", "x");
    const marks = openFileMarks({ home });
    writeFileSync(join(home, "real.md"), "x");
    for (let n = 0; n < 230; n++) await marks.add(join(home, "real.md"), `v${n % 2}`);
    expect([marks.knows("/w/gone.md"), marks.knows(join(home, "real.md"))]).toEqual([false, true]);
  });

  it.each([
    ["a file below a directory of the command", "w/a.md", true],
    ["a file in a directory whose name begins the same", "w2/a.md", false],
    ["a file beside it", "a.md", false],
  ])("are on %s while it runs", async (_, name, marked) => {
    for (const one of ["w", "w2"]) mkdirSync(join(home, one));
    const path = join(home, name);
    writeFileSync(path, "text");
    const marks = openFileMarks({ home });
    await marks.suspect("c1", [join(home, "w")], 0);
    expect([marks.has(path, "text"), marks.knows(path), marks.isEmpty]).toEqual([marked, marked, false]);
  });

  it("are neither on what was changed long before the command nor on files of another command", async () => {
    const path = join(home, "a.md");
    writeFileSync(path, "text");
    const marks = openFileMarks({ home });
    await marks.suspect("c1", [home], Date.now() + 3_600_000);
    expect([marks.has(path, "text"), marks.knows(path)]).toEqual([false, false]);
    // A file that is not there yet, and a directory, may be the command's.
    expect([marks.knows(join(home, "new.md")), marks.knows(home)]).toEqual([true, true]);
    await marks.settle("c2");
    expect(marks.isEmpty).toBe(false);
    await marks.settle("c1");
    expect([marks.has(path, "text"), marks.isEmpty, openFileMarks({ home }).isEmpty]).toEqual([false, true, true]);
  });

  it("leave the disk for a person who is forgotten, and for no one else", async () => {
    const [ann, anna] = ["ann", "anna"].map((name) => join(home, name)) as [string, string];
    for (const one of [ann, anna]) {
      mkdirSync(one);
      writeFileSync(join(one, "a.md"), "obey");
    }
    const marks = openFileMarks({ home });
    await marks.add(join(ann, "a.md"), "obey");
    await marks.add(join(anna, "a.md"), "obey");
    await marks.suspect("c1", [ann], 0);
    await marks.suspect("c2", [anna], 0);
    await marks.forget(ann);
    for (const one of [marks, openFileMarks({ home })]) {
      expect([one.knows(join(ann, "a.md")), one.knows(join(anna, "a.md"))]).toEqual([false, true]);
    }
    expect(readFileSync(marksFile(), "utf8")).not.toContain(JSON.stringify(join(ann, "a.md")));
    expect(readFileSync(marksFile(), "utf8")).not.toContain('"c1"');
    await marks.settle("c2");
    expect(marks.has(join(anna, "a.md"), "obey")).toBe(true);
  });
});
