/** The plain files on a real disk: what is missing is no error, everything else is, and nothing half-written stays. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { diskFiles } from "./disk-files.ts";
import type { MirrorFiles } from "./mirror-files.ts";

let home = "";
let files: MirrorFiles;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-disk-"));
  files = diskFiles(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
const text = (path: string): string | undefined => files.read(path)?.toString();
const modeOf = (path: string): number => statSync(join(home, path)).mode & 0o777;

describe("a path on the disk", () => {
  test.each(["none", "none/below", "file/below"])("%s that does not exist is missing and no error", (path) => {
    files.replace("file", "a file has nothing below it");
    expect([files.read(path), files.size(path), files.list(path)]).toEqual([undefined, undefined, []]);
    expect(() => files.sync(path)).not.toThrow();
    expect(() => files.readAt(path, 0, 1)).toThrow();
    if (!path.startsWith("file/")) expect(() => files.remove(path)).not.toThrow();
  });

  test("that cannot be read is an error, not a missing file: it would be written over", () => {
    mkdirSync(join(home, "dir"));
    expect(() => files.read("dir")).toThrow("EISDIR");
    symlinkSync("loop", join(home, "loop"));
    expect(() => files.read("loop")).toThrow("ELOOP");
    expect(() => files.list("loop")).toThrow("ELOOP");
    expect(() => files.sync("loop")).toThrow("ELOOP");
  });

  test("is read in parts, and a part ends where the file ends", () => {
    files.replace("lines", "one\ntwo\n");
    expect(files.readAt("lines", 4, 3).toString()).toBe("two");
    expect(files.readAt("lines", 4, 300).toString()).toBe("two\n");
    expect(files.readAt("lines", 8, 5)).toHaveLength(0);
    expect(files.size("lines")).toBe(8);
  });

  test("is listed by name", () => {
    for (const name of ["b", "c", "a"]) files.append(name, name);
    expect(files.list(".")).toEqual(["a", "b", "c"]);
  });
});

describe("a write to the disk", () => {
  test("appends text and bytes, replaces whole, and cuts", () => {
    files.append("a", "ä");
    files.append("a", Buffer.from("bc"));
    expect(text("a")).toBe("äbc");
    files.truncate("a", 3);
    expect(text("a")).toBe("äb");
    files.replace("a", "new");
    files.replace("a", Buffer.from("newer"));
    expect(text("a")).toBe("newer");
    files.replace("a", "");
    expect(text("a")).toBe("");
    expect(readdirSync(home)).toEqual(["a"]);
  });

  test("of many megabytes is whole", () => {
    const large = Buffer.alloc(9 << 20, "0123456789abcde");
    files.replace("large", large);
    files.append("large", large);
    expect(files.read("large")?.equals(Buffer.concat([large, large]))).toBe(true);
  });

  test("is for its owner only, also in a directory that is made for it", () => {
    files.makeDir("one/two");
    files.makeDir("one/two");
    files.replace("one/two/a", "x");
    files.append("one/b", "x");
    expect(["one", "one/two", "one/two/a", "one/b"].map(modeOf)).toEqual([0o700, 0o700, 0o600, 0o600]);
  });

  test("that fails leaves what was there, and no temporary file", () => {
    mkdirSync(join(home, "taken"));
    writeFileSync(join(home, "taken", "inside"), "x");
    expect(() => files.replace("taken", "a file")).toThrow();
    expect(readdirSync(home)).toEqual(["taken"]);
    expect(text("taken/inside")).toBe("x");
    expect(() => files.replace("none/below", "x")).toThrow("ENOENT");
    expect(() => files.append("none/below", "x")).toThrow("ENOENT");
  });

  test("moves and removes a directory with everything in it", () => {
    files.makeDir("dir/deep");
    files.replace("dir/deep/a", "x");
    files.move("dir", "moved");
    expect([files.list("dir"), text("moved/deep/a")]).toEqual([[], "x"]);
    files.sync("moved/deep/a");
    files.sync("moved/deep");
    files.remove("moved");
    expect(readdirSync(home)).toEqual([]);
  });

  test.runIf(existsSync("/proc/self/fd"))("leaves no open file behind, whether it succeeds or fails", () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    files.replace("a", "x");
    mkdirSync(join(home, "dir"));
    const before = open();
    for (let n = 0; n < 20; n++) {
      files.append("a", "x");
      files.replace("a", "x");
      files.readAt("a", 0, 1);
      files.sync("a");
      expect(() => files.readAt("dir", 0, 1)).toThrow("EISDIR");
      expect(() => files.replace("dir", "x")).toThrow();
    }
    expect(open() - before).toBeLessThan(10);
  });
});
