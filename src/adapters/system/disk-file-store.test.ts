import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
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

describe("files on the disk", () => {
  it("are written whole, for their owner alone, and read back", async () => {
    const store = diskFileStore(directory);
    const path = await store.write("a.txt", "hello");
    expect(path).toBe(join(directory, "a.txt"));
    expect(Buffer.from((await store.read(path)) ?? []).toString()).toBe("hello");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(readdirSync(directory)).toEqual(["a.txt"]);
  });

  it("may be written again under the same name, also at the same moment", async () => {
    const store = diskFileStore(directory);
    await Promise.all(Array.from({ length: 10 }, () => store.write("a.txt", "same")));
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("same");
    expect(readdirSync(directory)).toEqual(["a.txt"]);
  });

  for (const name of ["", ".", "..", "../x", "a/b", "/etc/x", ".hidden", "a\0b", "x/../../y"]) {
    it(`are not written as ${JSON.stringify(name)}`, async () => {
      await expect(diskFileStore(directory).write(name, "x")).rejects.toMatchObject({ code: "invalid_input" });
      expect(readdirSync(outside)).toEqual([]);
    });
  }

  it("that are not there are nothing", async () => {
    expect(await diskFileStore(directory).read(join(directory, "none"))).toBeUndefined();
  });

  it("that lie elsewhere are not read, whatever path is asked for", async () => {
    const store = diskFileStore(directory);
    await store.write("a.txt", "x");
    writeFileSync(join(outside, "secret"), "s");
    for (const path of [join(outside, "secret"), `${directory}/../secret`, "/etc/hostname", "a.txt"]) {
      await expect(store.read(path)).rejects.toMatchObject({ code: "invalid_input" });
    }
  });
});
