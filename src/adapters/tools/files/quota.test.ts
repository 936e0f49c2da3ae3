import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Places } from "./allowed-path.ts";
import { type Disk, realDisk } from "./disk.ts";
import { checkQuota } from "./quota.ts";
import { writeInside } from "./write-inside.ts";
import { writeQueues } from "./write-queues.ts";

let root: string;
let ws: string;
const at = (name: string): string => join(ws, name);

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-quota-")));
  ws = join(root, "ws");
  mkdirSync(join(root, "shared"));
  mkdirSync(at("d"), { recursive: true });
  writeFileSync(at("a.txt"), "x".repeat(40));
  writeFileSync(at("d/b.txt"), "x".repeat(30));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The workspace has 70 bytes in three entries. */
const places = (maxBytes: number, maxFiles: number): Places => ({
  workingDir: ws,
  writeDirs: [join(root, "shared")],
  quota: { of: "ann", maxBytes, maxFiles, exclusive: (work) => work() },
});
const tried = (maxBytes: number, maxFiles: number, path: string, bytes: number, disk: Disk = realDisk) =>
  checkQuota(disk, places(maxBytes, maxFiles), path, bytes).then(
    () => "fits",
    (error: Error & { code: string; hint: string }) => `${error.code}: ${error.message} ${error.hint}`,
  );

describe("a quota of bytes", () => {
  it.each<[string, string, number, boolean]>([
    ["a new file that fills it", "new.txt", 30, true],
    ["a new file that is too large", "new.txt", 31, false],
    ["a file that grows up to it", "a.txt", 70, true],
    ["a file that grows beyond it", "a.txt", 71, false],
    ["a new file in a directory", "d/new.txt", 31, false],
    ["a new file in a new directory", "e/f/new.txt", 31, false],
    ["an empty file", "new.txt", 0, true],
  ])("lets in %s: %s with %i bytes", async (_, path, bytes, fits) => {
    const said = await tried(100, 99, path, bytes);
    if (fits) expect(said).toBe("fits");
    else
      expect(said).toMatch(
        /^too_large: The files of ann are full: 70 of 100 bytes are used, .* workspaces\.maxBytes\.$/,
      );
  });

  it("says how much is missing", async () => {
    expect(await tried(100, 99, "a.txt", 80)).toContain("and a.txt needs 40 more.");
  });

  it.each([
    ["a file that becomes shorter", 39],
    ["a file that keeps its length", 40],
  ])("that is exceeded already lets %s be written", async (_, bytes) => {
    expect(await tried(10, 99, "a.txt", bytes)).toBe("fits");
    expect(await tried(10, 99, "a.txt", 41)).toContain("are full");
  });

  it("does not count what links lead to, and counts every name of a file", async () => {
    linkSync(at("a.txt"), at("again.txt"));
    expect(await tried(200, 99, "new.txt", 90)).toBe("fits");
    expect(await tried(200, 99, "new.txt", 91)).toContain("are full");
    writeFileSync(join(root, "shared", "large"), "x".repeat(50_000));
    symlinkSync(join(root, "shared"), at("s"));
    expect(await tried(10_000, 99, "new.txt", 5_000)).toBe("fits");
  });

  it("does not hold for other directories, also through a link", async () => {
    symlinkSync(join(root, "shared"), at("s"));
    expect(await tried(10, 1, join(root, "shared", "x"), 1_000)).toBe("fits");
    expect(await tried(10, 1, "s/x", 1_000)).toBe("fits");
    symlinkSync(ws, join(root, "shared", "back"));
    expect(await tried(10, 99, join(root, "shared", "back", "x"), 1_000)).toContain("are full");
  });
});

describe("a quota of files", () => {
  it.each<[string, string, number, boolean]>([
    ["the last free file", "new.txt", 4, true],
    ["one file too many", "new.txt", 3, false],
    ["a file in the last free directory", "e/new.txt", 5, true],
    ["a directory too many", "e/new.txt", 4, false],
    ["three names at once", "e/f/new.txt", 5, false],
    ["a file that exists", "a.txt", 3, true],
  ])("lets in %s: %s of %i", async (_, path, maxFiles, fits) => {
    const said = await tried(10_000, maxFiles, path, 50);
    if (fits) expect(said).toBe("fits");
    else expect(said).toMatch(/^too_large: .*: 3 of \d files and directories are used.* workspaces\.maxFiles\.$/);
  });

  it("that is exceeded already lets no file grow: not all bytes were counted", async () => {
    expect(await tried(10_000, 1, "a.txt", 40)).toBe("fits");
    expect(await tried(10_000, 1, "a.txt", 41)).toContain("there are more than 1, so a.txt cannot grow.");
  });

  it("is found to be exceeded without reading every directory", async () => {
    for (let n = 0; n < 50; n++) mkdirSync(at(`d/e${n}`));
    let read = 0;
    const disk: Disk = {
      ...realDisk,
      readdir: (path) => {
        read += 1;
        return realDisk.readdir(path);
      },
    };
    expect(await tried(10_000, 10, "new.txt", 1, disk)).toContain("are full");
    expect(read).toBeLessThan(5);
  });
});

it("counts a file that is removed in between as empty", async () => {
  const disk: Disk = {
    ...realDisk,
    lstat: (path) => (path === at("a.txt") ? Promise.reject(new TypeError("gone")) : realDisk.lstat(path)),
  };
  expect(await tried(100, 99, "new.txt", 70, disk)).toBe("fits");
});

it("checks nothing without a quota, and creates nothing if there is no room", async () => {
  await checkQuota(realDisk, { workingDir: ws }, "new.txt", 1_000_000);
  await expect(writeInside(realDisk, places(100, 99), "e/f/new.txt", "x".repeat(31))).rejects.toThrow("are full");
  expect(() => readFileSync(at("e"))).toThrow("ENOENT");
  await expect(writeInside(realDisk, places(100, 99), "é.txt", "é".repeat(16))).rejects.toThrow("needs 32 more");
});

it("lets only one of two writes at the same time have the last bytes", async () => {
  const { exclusive, ...quota } = places(100, 99).quota as NonNullable<Places["quota"]>;
  expect(exclusive).toBeDefined();
  const one: Places = { workingDir: ws, quota: { ...quota, exclusive: writeQueues().of(ws) } };
  const results = await Promise.allSettled(
    ["n1", "n2", "n3"].map((path) => writeInside(realDisk, one, path, "x".repeat(20))),
  );
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
});

describe("a queue of writes", () => {
  it("runs one after the other in each directory, and goes on after a failure", async () => {
    const queues = writeQueues();
    const seen: string[] = [];
    const { promise: held, resolve: go } = Promise.withResolvers<void>();
    const first = queues.of("/a")(async () => {
      await held;
      seen.push("a1");
      throw new TypeError("no");
    });
    const second = queues.of("/a")(async () => seen.push("a2"));
    await queues.of("/b")(async () => seen.push("b1"));
    expect(seen).toEqual(["b1"]);
    go();
    await expect(first).rejects.toThrow("no");
    await second;
    expect(seen).toEqual(["b1", "a1", "a2"]);
  });
});
