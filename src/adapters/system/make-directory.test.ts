import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StoreLostError } from "../../core/errors.ts";
import { makeDirectory, useHome } from "./make-directory.ts";

let room: string;
let home: string;
let leave = (): void => {};
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), "rookery-make-"));
  home = join(room, "home");
});
afterEach(() => {
  leave();
  leave = () => {};
  rmSync(room, { recursive: true });
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("a directory", () => {
  it("is made with those above it, for its owner only", () => {
    makeDirectory(join(home, "a", "b"));
    for (const path of [home, join(home, "a"), join(home, "a", "b")]) expect(modeOf(path)).toBe(0o700);
    makeDirectory(join(home, "open", "c"), 0o755);
    expect([modeOf(join(home, "open")), modeOf(join(home, "open", "c"))]).toEqual([0o755, 0o755]);
  });

  it("that is there stays as it is, also behind a link", () => {
    mkdirSync(home, { mode: 0o750 });
    makeDirectory(home);
    expect(modeOf(home)).toBe(0o750);
    symlinkSync(home, join(room, "link"));
    makeDirectory(join(room, "link"));
    expect(lstatSync(join(room, "link")).isSymbolicLink()).toBe(true);
    makeDirectory(join(room, "link", "a"));
    expect(existsSync(join(home, "a"))).toBe(true);
  });

  it.each([
    ["a file is in its place", () => writeFileSync(join(room, "x"), ""), "x", "EEXIST"],
    ["a file is above it", () => writeFileSync(join(room, "x"), ""), "x/y", "ENOTDIR"],
    [
      "a link that leads nowhere is in its place",
      () => symlinkSync(join(room, "none"), join(room, "x")),
      "x",
      "EEXIST",
    ],
  ])("is not made if %s", (_, prepare, path, code) => {
    prepare();
    expect(() => makeDirectory(join(room, path))).toThrow(expect.objectContaining({ code }));
  });
});

describe("a home that is used", () => {
  const moved = (): void => {
    mkdirSync(home, { recursive: true });
    leave = useHome(home);
    makeDirectory(join(home, "agents", "one"));
    renameSync(home, join(room, "away"));
  };

  it.each(["", "agents", "agents/two", "a/b/c"])("is not made again after it was moved away: %j", (below) => {
    moved();
    expect(() => makeDirectory(join(home, below))).toThrow(StoreLostError);
    expect(existsSync(home)).toBe(false);
    renameSync(join(room, "away"), home);
    makeDirectory(join(home, below));
    expect(existsSync(join(home, below))).toBe(true);
  });

  it("is not made again through a link to what is above it", () => {
    symlinkSync(room, `${room}-link`);
    try {
      home = join(`${room}-link`, "home");
      moved();
      expect(() => makeDirectory(join(room, "home", "agents"))).toThrow(StoreLostError);
      expect(() => makeDirectory(join(home, "agents"))).toThrow(/home was deleted or moved away|home .* was deleted/u);
      expect(existsSync(home)).toBe(false);
    } finally {
      rmSync(`${room}-link`);
    }
  });

  it("may be made again by whoever uses it after all have left", () => {
    moved();
    const second = useHome(home);
    leave();
    leave();
    expect(() => makeDirectory(home)).toThrow(StoreLostError);
    second();
    makeDirectory(home);
    expect(existsSync(home)).toBe(true);
  });
});
