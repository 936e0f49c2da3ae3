import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { marksFile, openFileMarks } from "./open-file-marks.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-marks-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const lines = (): number => readFileSync(marksFile({ home }), "utf8").split("\n").filter(Boolean).length;

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
    appendFileSync(marksFile({ home }), '{"path":"/w/b.md","sha');
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
});
