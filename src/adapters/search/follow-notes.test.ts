import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type NoteIndex, noteFollower } from "./follow-notes.ts";

it("removes the notes of a directory that is gone, and only those, when another one is searched", async () => {
  const root = mkdtempSync(join(tmpdir(), "rookery-follow-"));
  const [gone, stays] = [join(root, "gone"), join(root, "stays")];
  for (const directory of [gone, stays]) {
    mkdirSync(directory);
    writeFileSync(join(directory, "MEMORY.md"), "walrus");
  }
  const rows = new Map<string, Map<string, string>>();
  const index: NoteIndex = {
    stamps: async (directory) => new Map(rows.get(directory)),
    replace: async (directory, { path, stamp }) =>
      void rows.set(directory, new Map(rows.get(directory)).set(path, stamp)),
    remove: async (directory, path) => void rows.get(directory)?.delete(path),
    directories: async () => [...rows.keys()],
  };
  let now = Date.now();
  const follower = noteFollower(index, () => now);
  try {
    await follower.follow(gone);
    await follower.follow(stays);
    rmSync(gone, { recursive: true });
    await follower.follow(stays);
    expect(rows.get(gone)?.size).toBe(1);
    now += 61_000;
    await follower.follow(stays);
    expect([rows.get(gone)?.size, rows.get(stays)?.size]).toEqual([0, 1]);
    const shared = noteFollower({ ...index, directories: undefined }, () => now);
    rmSync(stays, { recursive: true });
    now += 61_000;
    await shared.follow(root);
    expect(rows.get(stays)?.size).toBe(1);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
