import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { diskFileStore } from "./disk-file-store.ts";

let outside: string;
let directory: string;
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), "rookery-files-"));
  directory = join(outside, "files");
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

describe("the disk file store", () => {
  it("writes a complete file that only its owner can read, and reads it back", async () => {
    const store = diskFileStore(directory);
    const path = await store.write("a.txt", "hello");
    expect(path).toBe(join(directory, "a.txt"));
    expect(Buffer.from((await store.read(path)) ?? []).toString()).toBe("hello");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(readdirSync(directory)).toEqual(["a.txt"]);
  });

  it("leaves nothing of a file that could not be written", async () => {
    const store = diskFileStore(directory);
    await expect(store.write("a.txt", { not: "a content" } as never)).rejects.toThrow();
    mkdirSync(join(directory, "b.txt/c"), { recursive: true });
    await expect(store.write("b.txt", "hello")).rejects.toThrow();
    expect(readdirSync(directory)).toEqual(["b.txt"]);
  });

  it("replaces a file of the same name, also with concurrent writes", async () => {
    const store = diskFileStore(directory);
    await Promise.all(Array.from({ length: 10 }, () => store.write("a.txt", "same")));
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("same");
    expect(readdirSync(directory)).toEqual(["a.txt"]);
  });

  for (const name of ["", ".", "..", "../x", "a/b", "/etc/x", ".hidden", "a\0b", "x/../../y"]) {
    it(`refuses the name ${JSON.stringify(name)}`, async () => {
      await expect(diskFileStore(directory).write(name, "x")).rejects.toMatchObject({ code: "invalid_input" });
      expect(readdirSync(outside)).toEqual([]);
    });
  }

  it("returns undefined for a missing file", async () => {
    expect(await diskFileStore(directory).read(join(directory, "none"))).toBeUndefined();
  });

  it("refuses to read a path outside its directory", async () => {
    const store = diskFileStore(directory);
    await store.write("a.txt", "x");
    writeFileSync(join(outside, "secret"), "s");
    for (const path of [join(outside, "secret"), `${directory}/../secret`, "/etc/hostname", "a.txt"]) {
      await expect(store.read(path)).rejects.toMatchObject({ code: "invalid_input" });
    }
  });
});
