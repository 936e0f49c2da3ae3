/** Files of an agent in a directory that somebody else made: nothing outside of it is read, and nothing is changed. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { agentPaths } from "./file-format.ts";
import { openForeignAgent } from "./foreign-agent-files.ts";

const MB = 1 << 20;
const ID = "a".repeat(24);
const root = mkdtempSync(join(tmpdir(), "rookery-foreign-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let dir = "";
let count = 0;
beforeEach(() => {
  count += 1;
  dir = join(root, String(count), ID);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "state.json"), "{}");
});
const paths = agentPaths(ID as never);

describe("the directory of an agent", () => {
  test("is opened by its path or a link to it, also with the number of one that was moved aside", () => {
    symlinkSync(dir, join(root, String(count), "link"));
    expect(openForeignAgent(join(root, String(count), "link"))).toMatchObject({ id: ID, dir });
    const aside = join(root, String(count), `${ID}-2`);
    mkdirSync(aside);
    expect(openForeignAgent(aside).id).toBe(ID);
    expect(openForeignAgent(dir).files.read(paths.state)?.toString()).toBe("{}");
  });

  test("must exist, be a directory and have the name of an agent", () => {
    expect(() => openForeignAgent(join(root, "none"))).toThrow(NotFoundError);
    expect(() => openForeignAgent(join(dir, "state.json"))).toThrow(InvalidInputError);
    expect(() => openForeignAgent(root)).toThrow(`The name of ${root} is not the id`);
    expect(basename(dir)).toBe(ID);
  });

  test("gives only the files of an agent, in parts too, and nothing that is written", () => {
    writeFileSync(join(dir, "history.jsonl"), "one\ntwo\n");
    writeFileSync(join(dir, "secret.txt"), "secret");
    const { files } = openForeignAgent(dir);
    expect(files.readAt(paths.history, 4, 3).toString()).toBe("two");
    expect(files.readAt(paths.history, 4, 300).toString()).toBe("two\n");
    expect(files.size(paths.history)).toBe(8);
    expect([files.read(`${paths.dir}/secret.txt`), files.size(`${paths.dir}/secret.txt`)]).toEqual([
      undefined,
      undefined,
    ]);
    // The path of another agent leads to no file of this one.
    const other = agentPaths("b".repeat(24) as never);
    expect([files.read(other.state), files.size(other.history)]).toEqual([undefined, undefined]);
    expect([files.read(paths.pending), files.size(paths.pending)]).toEqual([undefined, undefined]);
    expect(files.readAt(paths.pending, 0, 5)).toHaveLength(0);
    files.replace(paths.state, "changed");
    files.append(paths.history, "three\n");
    expect([files.read(paths.state)?.toString(), files.size(paths.history)]).toEqual(["{}", 8]);
  });

  test.each(["state.json", "history.jsonl", "history.jsonl.bak", "descriptor.json", "pending.json"])(
    "is refused if its %s is a link, a pipe or a directory",
    (name) => {
      const path = join(dir, name);
      rmSync(path, { force: true });
      symlinkSync("/etc/passwd", path);
      expect(() => openForeignAgent(dir)).toThrow(`${path} is a link.`);
      rmSync(path);
      execFileSync("mkfifo", [path]);
      expect(() => openForeignAgent(dir)).toThrow(`${path} is not a regular file.`);
      rmSync(path);
      mkdirSync(path);
      expect(() => openForeignAgent(dir)).toThrow(`${path} is not a regular file.`);
    },
  );

  test.each([
    ["descriptor.json", MB],
    ["state.json", 16 * MB],
    ["pending.json", 64 * MB],
  ])("may have a %s of %i bytes, and not one more", (name, limit) => {
    const path = join(dir, name);
    writeFileSync(path, "");
    truncateSync(path, limit);
    expect(openForeignAgent(dir).id).toBe(ID);
    truncateSync(path, limit + 1);
    expect(() => openForeignAgent(dir)).toThrow(`and the limit is ${limit}`);
  });

  test("may have a line of 16 MB in its history, wherever it begins, and no longer one", () => {
    const history = join(dir, "history.jsonl");
    const write = (...lengths: readonly number[]): void =>
      writeFileSync(history, lengths.map((length) => `${"x".repeat(length)}\n`).join(""));
    write(16 * MB);
    expect(openForeignAgent(dir).id).toBe(ID);
    write(5, 16 * MB, 7);
    expect(openForeignAgent(dir).id).toBe(ID);
    write(16 * MB + 1);
    expect(() => openForeignAgent(dir)).toThrow("has a line of more than");
    // A line that begins with a portion, and one whose end does.
    write(MB, 16 * MB);
    expect(openForeignAgent(dir).id).toBe(ID);
    write(MB - 1, 16 * MB);
    expect(openForeignAgent(dir).id).toBe(ID);
    write(MB - 3, 16 * MB + 1, 7);
    expect(() => openForeignAgent(dir)).toThrow("has a line of more than");
    // Many lines that are short enough do not add up.
    write(...Array.from({ length: 20 }, () => MB - 1));
    expect(openForeignAgent(dir).id).toBe(ID);
  });

  test("keeps no file open, whether it is read or refused", () => {
    const open = (): number => readdirSync("/dev/fd").length;
    const before = open();
    const { files } = openForeignAgent(dir);
    for (const path of [paths.state, paths.history]) files.read(path);
    files.size(paths.state);
    writeFileSync(join(dir, "descriptor.json"), "");
    truncateSync(join(dir, "descriptor.json"), MB + 1);
    expect(() => openForeignAgent(dir)).toThrow(InvalidInputError);
    expect(open()).toBe(before);
  });

  test("with a file that cannot be opened for another reason is not said to have a link", async () => {
    const server = createServer().listen(join(dir, "pending.json"));
    await once(server, "listening");
    expect(() => openForeignAgent(dir)).toThrow("ENXIO");
    server.close();
    await once(server, "close");
  });
});
