import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useCompileCache } from "./compile-cache.ts";

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "rookery-cache-")));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const compileCacheDirectory = (env: Readonly<Record<string, string>>): string | undefined => {
  let used: string | undefined;
  useCompileCache(env, (directory) => {
    used = directory;
  });
  return used;
};
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("the directory of the compiled code", () => {
  it("is in the cache directory of the user and belongs to the user alone", () => {
    const found = compileCacheDirectory({ HOME: dir });
    expect(found).toBe(join(dir, ".cache/rookery/compiled"));
    expect(modeOf(join(dir, ".cache/rookery"))).toBe(0o700);
    expect(modeOf(found ?? "")).toBe(0o700);
  });

  it("is where XDG_CACHE_HOME says, unless that is a relative path", () => {
    expect(compileCacheDirectory({ HOME: dir, XDG_CACHE_HOME: join(dir, "x") })).toBe(join(dir, "x/rookery/compiled"));
    expect(compileCacheDirectory({ HOME: dir, XDG_CACHE_HOME: "x" })).toBe(join(dir, ".cache/rookery/compiled"));
  });

  it.each(["NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE"])("is Node's business with %s", (name) => {
    expect(compileCacheDirectory({ HOME: dir, [name]: "1" })).toBeUndefined();
  });

  it.each(["rookery", "rookery/compiled"])("is not one that others could have written to: %s", (open) => {
    mkdirSync(join(dir, ".cache/rookery/compiled"), { recursive: true, mode: 0o700 });
    expect(compileCacheDirectory({ HOME: dir })).toBeDefined();
    chmodSync(join(dir, ".cache", open), 0o770);
    expect(compileCacheDirectory({ HOME: dir })).toBeUndefined();
  });

  it("is not one that a link leads to", () => {
    mkdirSync(join(dir, ".cache/rookery"), { recursive: true });
    mkdirSync(join(dir, "elsewhere"));
    symlinkSync(join(dir, "elsewhere"), join(dir, ".cache/rookery/compiled"));
    expect(compileCacheDirectory({ HOME: dir })).toBeUndefined();
  });

  it("is none if it cannot be made", () => {
    writeFileSync(join(dir, "file"), "");
    expect(compileCacheDirectory({ HOME: join(dir, "file") })).toBeUndefined();
  });
});
