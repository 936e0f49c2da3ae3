import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { isInside, type Places } from "./allowed-path.ts";
import { type Disk, realDisk } from "./disk.ts";
import { fileTools } from "./file-tools.ts";
import { MAX_FILE_BYTES } from "./read-text.ts";

let root: string;
let ws: string;
let outside: string;
let places: Places;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-files-")));
  ws = join(root, "ws");
  outside = join(root, "ws-outside");
  mkdirSync(ws);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "the secret");
  places = { workingDir: ws };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const context = {
  agent: { id: "a" } as AgentRecord,
  agentId: "a" as AgentId,
  runId: "r" as RunId,
  callId: "c",
  effectKey: "k",
  signal: new AbortController().signal,
  progress() {},
} satisfies ToolContext;

async function call(name: string, input: Record<string, unknown>, disk: Disk = realDisk): Promise<string> {
  const tool = fileTools({ placesOf: () => places }, disk).find((one) => one.name === name);
  const { content } = (await tool?.execute(tool.input.parse(input), context)) ?? { content: [] };
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
const read = (path: string, disk?: Disk): Promise<string> => call("read", { path }, disk);
const write = (path: string, content: string, disk?: Disk): Promise<string> => call("write", { path, content }, disk);
/** The arguments of an attack on a path with a tool. */
const attackOn = (name: string, path: string): Record<string, unknown> => {
  const change = name === "write" ? { content: "taken over" } : { oldText: "e", newText: "E" };
  return name === "read" || name === "list" ? { path } : { path, ...change };
};

const edit = (path: string, oldText: string, newText: string, all?: boolean): Promise<string> =>
  call("edit", { path, oldText, newText, all });
const OUTSIDE = "Path is outside the allowed directories.";

/** The same file system, on a machine that does not show descriptors as paths. */
const portable: Disk = { ...realDisk, descriptors: undefined };
const disks = [["with descriptors as paths", realDisk] as const, ["without", portable] as const];

describe("read", () => {
  it("shows a file", async () => {
    writeFileSync(join(ws, "a.txt"), "one\ntwo\n");
    expect(await read("a.txt")).toBe("one\ntwo");
    expect(await read(join(ws, "a.txt"))).toBe("one\ntwo");
    expect(await read("./x/../a.txt")).toBe("one\ntwo");
  });

  it("shows a file behind a link that stays inside", async () => {
    mkdirSync(join(ws, "d"));
    writeFileSync(join(ws, "d", "a.txt"), "one");
    symlinkSync("d/a.txt", join(ws, "link"));
    expect(await read("link")).toBe("one");
  });

  it("shows some lines and how to continue", async () => {
    writeFileSync(join(ws, "long.txt"), Array.from({ length: 2_005 }, (_, n) => `${n + 1}`).join("\n"));
    const first = await read("long.txt");
    expect(first).toContain("[lines 1 to 2000 of 2005; go on with offset 2001]");
    expect(await call("read", { path: "long.txt", offset: 2_001 })).toBe("2001\n2002\n2003\n2004\n2005");
    expect(await call("read", { path: "long.txt", offset: 3, limit: 2 })).toMatch(/^3\n4\n\n\[lines 3 to 4 of 2005;/);
    await expect(call("read", { path: "long.txt", offset: 9_999 })).rejects.toThrow("long.txt has 2005 lines only.");
  });

  it("cuts long output with a note", async () => {
    writeFileSync(join(ws, "wide.txt"), `${"x".repeat(40_007)}\nnext`);
    const text = await read("wide.txt");
    expect(text.length).toBeLessThan(40_500);
    expect(text).toContain("[line 1 is cut, it has 40007 characters; lines 1 to 1 of 2;");
  });

  it("reports an empty file", async () => {
    writeFileSync(join(ws, "empty"), "");
    expect(await read("empty")).toBe("empty is empty.");
  });

  it.each([
    ["bytes that are not text", Buffer.from([0xff, 0xfe, 0x41])],
    ["a NUL", Buffer.from("a\0b")],
  ])("refuses %s", async (_, bytes) => {
    writeFileSync(join(ws, "bin"), bytes);
    await expect(read("bin")).rejects.toThrow("bin is not a text file.");
  });

  it("refuses a file that is too large, without reading all of it", async () => {
    writeFileSync(join(ws, "huge"), "");
    truncateSync(join(ws, "huge"), 1024 * MAX_FILE_BYTES);
    await expect(read("huge")).rejects.toThrow(`huge is larger than ${MAX_FILE_BYTES} bytes`);
  });

  it("reports a missing file and a directory", async () => {
    mkdirSync(join(ws, "d"));
    await expect(read("nothing")).rejects.toThrow("There is no file nothing.");
    await expect(read("d")).rejects.toThrow("d is a directory.");
  });
});

describe("write", () => {
  it("creates a file and its directories, readable by their owner only", async () => {
    expect(await write("a/b/c.txt", "hello")).toBe("Wrote a/b/c.txt (5 bytes).");
    expect(readFileSync(join(ws, "a/b/c.txt"), "utf8")).toBe("hello");
    expect(statSync(join(ws, "a/b/c.txt")).mode & 0o777).toBe(0o600);
    expect(statSync(join(ws, "a/b")).mode & 0o777).toBe(0o700);
  });

  it("replaces a file, keeps its mode and leaves no other file behind", async () => {
    writeFileSync(join(ws, "a.sh"), "a long text that was there");
    chmodSync(join(ws, "a.sh"), 0o755);
    expect(await write("a.sh", "new")).toBe("Replaced a.sh (3 bytes).");
    expect(await write("a.sh", "new")).toBe("Replaced a.sh (3 bytes).");
    expect(statSync(join(ws, "a.sh")).mode & 0o777).toBe(0o755);
    expect(readdirSync(ws)).toEqual(["a.sh"]);
  });

  it("keeps the old file if the disk fails", async () => {
    writeFileSync(join(ws, "a.txt"), "old");
    const failing: Disk = { ...realDisk, rename: () => Promise.reject(new TypeError("no room")) };
    await expect(write("a.txt", "new", failing)).rejects.toThrow("no room");
    expect(readFileSync(join(ws, "a.txt"), "utf8")).toBe("old");
    expect(readdirSync(ws)).toEqual(["a.txt"]);
  });

  it("does not change a file outside that shares its content by a hard link", async () => {
    linkSync(join(outside, "secret.txt"), join(ws, "shared.txt"));
    await write("shared.txt", "mine");
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("the secret");
  });

  it("refuses a text that is too large", async () => {
    await expect(write("a.txt", "x".repeat(MAX_FILE_BYTES + 1))).rejects.toThrow("is the limit");
    expect(existsSync(join(ws, "a.txt"))).toBe(false);
  });

  it("refuses a directory and a file used as a directory", async () => {
    mkdirSync(join(ws, "d"));
    writeFileSync(join(ws, "f"), "");
    await expect(write("d", "x")).rejects.toThrow("d is a directory.");
    await expect(write("f/x", "x")).rejects.toThrow("A part of f/x is not a directory.");
  });
});

describe("edit", () => {
  beforeEach(() => writeFileSync(join(ws, "a.txt"), "one two two"));

  it("replaces a single occurrence", async () => {
    expect(await edit("a.txt", "one", "$& 1")).toBe("Edited a.txt (1 place).");
    expect(readFileSync(join(ws, "a.txt"), "utf8")).toBe("$& 1 two two");
  });

  it("replaces every occurrence on request", async () => {
    expect(await edit("a.txt", "two", "2", true)).toBe("Edited a.txt (2 places).");
    expect(readFileSync(join(ws, "a.txt"), "utf8")).toBe("one 2 2");
  });

  it.each([
    ["three", "3", "The old text is not in a.txt."],
    ["two", "2", "The old text is in a.txt 2 times."],
    ["one", "one", "The old and the new text are the same."],
  ])("refuses %s → %s", async (oldText, newText, message) => {
    await expect(edit("a.txt", oldText, newText)).rejects.toThrow(message);
    expect(readFileSync(join(ws, "a.txt"), "utf8")).toBe("one two two");
  });

  it("does not replace a file that has changed since it was read", async () => {
    const disk: Disk = {
      ...realDisk,
      open: async (path, flags, mode) => {
        if (path.endsWith(".tmp")) writeFileSync(join(ws, "a.txt"), "other text");
        return realDisk.open(path, flags, mode);
      },
    };
    const editing = call("edit", { path: "a.txt", oldText: "one", newText: "1" }, disk);
    await expect(editing).rejects.toThrow("a.txt has changed since you read it");
    expect(readFileSync(join(ws, "a.txt"), "utf8")).toBe("other text");
    expect(readdirSync(ws)).toEqual(["a.txt"]);
  });

  it("is not repeated after a crash; the other tools are", () => {
    const policies = fileTools({ placesOf: () => places }).map(({ name, replay }) => [name, replay]);
    expect(policies).toEqual([
      ["read", "safe"],
      ["write", "safe"],
      ["edit", "never"],
      ["apply_patch", "never"],
      ["list", "safe"],
      ["grep", "safe"],
      ["find", "safe"],
    ]);
  });
});

describe("list", () => {
  it("shows the entries in order, with their type", async () => {
    writeFileSync(join(ws, "b.txt"), "four");
    mkdirSync(join(ws, "a"));
    symlinkSync("b.txt", join(ws, "c"));
    writeFileSync(join(ws, "d\ne"), "");
    expect(await call("list", {})).toBe("a/\nb.txt (4 bytes)\nc@\nd?e (0 bytes)");
    expect(await call("list", { path: "a" })).toBe("a is empty.");
  });

  it("is limited", async () => {
    for (let n = 0; n < 503; n++) writeFileSync(join(ws, `f${n}`), "");
    const lines = (await call("list", {})).split("\n");
    expect(lines).toHaveLength(501);
    expect(lines.at(-1)).toBe("[3 more are not shown]");
  });

  it("reports a missing directory and a file", async () => {
    writeFileSync(join(ws, "f"), "");
    await expect(call("list", { path: "x" })).rejects.toThrow("There is no directory x.");
    await expect(call("list", { path: "f" })).rejects.toThrow("A part of f is not a directory.");
  });
});

describe.each(disks)("an attack, on a system %s", (_, disk) => {
  const attempts = async (path: string): Promise<readonly string[]> => {
    const calls = [
      read(path, disk),
      write(path, "taken over", disk),
      call("edit", { path, oldText: "e", newText: "E" }, disk),
    ];
    const results = await Promise.allSettled([...calls, call("list", { path }, disk)]);
    return results.map((result) => (result.status === "rejected" ? String(result.reason.message) : "ALLOWED"));
  };
  const untouched = (): void => {
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("the secret");
  };
  const denied = [OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE];

  it.each([
    "../ws-outside/secret.txt",
    "../ws-outside/nothing",
    "../../../../../../etc/passwd",
    "a/../../ws-outside/secret.txt",
    "./../ws-outside",
    "..",
    "/etc/passwd",
    "/etc/nothing-of-this-name",
    "/",
    "//etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
  ])("by the path %s is denied", async (path) => {
    expect(await attempts(path)).toEqual(denied);
    untouched();
  });

  it("by a directory whose name only starts like the workspace's is denied", async () => {
    expect(await attempts(join(root, "ws-outside", "secret.txt"))).toEqual(denied);
    expect(isInside("/a/ws", "/a/ws-outside/x")).toBe(false);
    expect(isInside("/a/ws", "/a/WS/x")).toBe(false);
    expect(isInside("/a/ws", "/a/ws")).toBe(true);
    expect(isInside("/", "/a")).toBe(true);
  });

  it("by the workspace's name in another case is denied", async () => {
    mkdirSync(join(root, "WS"));
    writeFileSync(join(root, "WS", "x"), "e");
    expect(await attempts("../WS/x")).toEqual(denied);
    expect(await attempts(join(root, "Ws", "x"))).toEqual(denied);
  });

  it("by a link to a file outside is denied", async () => {
    symlinkSync(join(outside, "secret.txt"), join(ws, "link"));
    symlinkSync("../ws-outside/secret.txt", join(ws, "relative"));
    symlinkSync("link", join(ws, "twice"));
    for (const path of ["link", "relative", "twice"]) expect(await attempts(path)).toEqual(denied);
    untouched();
  });

  it("by a link in the middle of the path is denied", async () => {
    symlinkSync(outside, join(ws, "d"));
    expect(await attempts("d/secret.txt")).toEqual(denied);
    expect(await attempts("d/new.txt")).toEqual(denied);
    expect(await attempts("d/new/deep/file.txt")).toEqual(denied);
    untouched();
  });

  it("by a link to a missing file creates nothing outside", async () => {
    symlinkSync(join(outside, "new.txt"), join(ws, "link"));
    symlinkSync(join(outside, "newdir"), join(ws, "dirlink"));
    expect(await attempts("link")).not.toContain("ALLOWED");
    expect(await attempts("dirlink/x")).not.toContain("ALLOWED");
    untouched();
  });

  it("by a cycle of links is denied", async () => {
    symlinkSync("b", join(ws, "a"));
    symlinkSync("a", join(ws, "b"));
    expect(new Set(await attempts("a"))).toEqual(new Set(["The path is a cycle of links."]));
  });

  it.each([
    ["a NUL", "a\0b"],
    ["a NUL before a real ending", "../ws-outside/secret.txt\0.png"],
    ["a line end", "a\nb"],
    ["an escape sequence", "a\u001b[2Jb"],
    ["a character that reverses the text", "a\u202etxt.exe"],
    ["half a surrogate pair", "a\ud800"],
    ["only blanks", "  "],
    ["too many characters", "a/".repeat(2_100)],
    ["a name that is too long", `${"ä".repeat(128)}.txt`],
  ])("by %s in the path is refused", async (_name, path) => {
    const results = await attempts(path);
    for (const result of results) expect(result).toMatch(/^This is not a usable path: /);
  });

  it("by a pipe without a writer is denied and does not wait", async () => {
    execFileSync("mkfifo", [join(ws, "pipe")]);
    const [reading, writing, editing] = await attempts("pipe");
    expect([reading, writing, editing]).toEqual(Array(3).fill("pipe is not a regular file."));
    expect(statSync(join(ws, "pipe")).isFIFO()).toBe(true);
  });

  /** Calls `swap` right after the first check has resolved the path. */
  const swapping = (swap: () => void): Disk => {
    let swapped = false;
    return {
      ...disk,
      realpath: async (path) => {
        const real = await disk.realpath(path);
        if (!swapped && path.startsWith(`${ws}/`)) {
          swapped = true;
          swap();
        }
        return real;
      },
    };
  };

  it.each(["read", "write", "edit"])(
    "by a link that replaces the file between check and open is denied: %s",
    async (name) => {
      writeFileSync(join(ws, "a.txt"), "mine e");
      const disk2 = swapping(() => {
        rmSync(join(ws, "a.txt"));
        symlinkSync(join(outside, "secret.txt"), join(ws, "a.txt"));
      });
      const input = attackOn(name, "a.txt");
      await expect(call(name, input, disk2)).rejects.toThrow(/is a link|not a regular file/);
      untouched();
    },
  );

  it.each(["read", "write", "edit", "list"])(
    "by a link that replaces a directory between check and open is denied: %s",
    async (name) => {
      mkdirSync(join(ws, "d"));
      writeFileSync(join(ws, "d", "secret.txt"), "mine e");
      const disk2 = swapping(() => {
        renameSync(join(ws, "d"), join(ws, "moved"));
        symlinkSync(outside, join(ws, "d"));
      });
      const path = name === "list" ? "d" : "d/secret.txt";
      const input = attackOn(name, path);
      await expect(call(name, input, disk2)).rejects.toThrow(/outside the allowed|is a link|not a directory/);
      untouched();
    },
  );

  it.each(["read", "write", "edit", "list"])(
    "by a link that replaces a higher directory between check and open is denied: %s",
    async (name) => {
      for (const place of [ws, outside]) {
        mkdirSync(join(place, "d", "e"), { recursive: true });
        writeFileSync(join(place, "d", "e", "f.txt"), "e");
      }
      const disk2 = swapping(() => {
        renameSync(join(ws, "d"), join(ws, "moved"));
        symlinkSync(join(outside, "d"), join(ws, "d"));
      });
      const path = name === "list" ? "d/e" : "d/e/f.txt";
      const input = attackOn(name, path);
      await expect(call(name, input, disk2)).rejects.toThrow(OUTSIDE);
      expect(readFileSync(join(outside, "d", "e", "f.txt"), "utf8")).toBe("e");
    },
  );

  it.each(["write", "edit"])("by a link to a guarded directory higher up in the path is denied: %s", async (name) => {
    // Below the agent's own directory, so that relative paths start in the one that others own.
    places = { workingDir: join(ws, "own"), writeDirs: [ws], guarded: { roots: [], files: [], directories: ["cron"] } };
    mkdirSync(places.workingDir);
    for (const top of ["d", "cron"]) {
      mkdirSync(join(ws, top, "e"), { recursive: true });
      writeFileSync(join(ws, top, "e", "f.txt"), "e");
    }
    const disk2 = swapping(() => {
      renameSync(join(ws, "d"), join(ws, "moved"));
      symlinkSync("cron", join(ws, "d"));
    });
    const input = attackOn(name, "../d/e/f.txt");
    await expect(call(name, input, disk2)).rejects.toThrow("only the owner's agents can write it");
    expect(readFileSync(join(ws, "cron", "e", "f.txt"), "utf8")).toBe("e");
  });

  it("by a link that exists only while the file is opened is denied", async () => {
    mkdirSync(join(ws, "d"));
    writeFileSync(join(ws, "d", "secret.txt"), "mine");
    const disk2: Disk = {
      ...disk,
      open: async (path, flags, mode) => {
        renameSync(join(ws, "d"), join(ws, "moved"));
        symlinkSync(outside, join(ws, "d"));
        const handle = await disk.open(path, flags, mode);
        rmSync(join(ws, "d"));
        renameSync(join(ws, "moved"), join(ws, "d"));
        return handle;
      },
    };
    await expect(read("d/secret.txt", disk2)).rejects.toThrow(/outside the allowed|changed while it was opened/);
  });

  it("by a link that replaces a directory while it is created is denied", async () => {
    const disk2: Disk = {
      ...disk,
      mkdir: async () => {
        symlinkSync(outside, join(ws, "new"));
        throw Object.assign(new TypeError("exists"), { code: "EEXIST" });
      },
    };
    await expect(write("new/file.txt", "taken over", disk2)).rejects.toThrow(/is a link|not a directory/);
    untouched();
  });
});

describe("a directory that is replaced by a link after it was opened", () => {
  it("does not redirect the file: it goes into the open directory", async () => {
    mkdirSync(join(ws, "d"));
    const disk: Disk = {
      ...realDisk,
      lstat: async (path) => {
        if (!existsSync(join(ws, "moved"))) {
          renameSync(join(ws, "d"), join(ws, "moved"));
          symlinkSync(outside, join(ws, "d"));
        }
        return realDisk.lstat(path);
      },
    };
    await write("d/a.txt", "mine", disk);
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readFileSync(join(ws, "moved", "a.txt"), "utf8")).toBe("mine");
  });
});

describe("directories beside the workspace", () => {
  it("are readable or writable as configured", async () => {
    const shared = join(root, "shared");
    mkdirSync(shared);
    places = { workingDir: ws, readDirs: [outside], writeDirs: [shared, join(root, "missing")] };
    expect(await read(join(outside, "secret.txt"))).toBe("the secret");
    await expect(write(join(outside, "x"), "x")).rejects.toThrow(OUTSIDE);
    await write(join(shared, "x"), "x");
    expect(await read(join(shared, "x"))).toBe("x");
  });

  it("may be links", async () => {
    symlinkSync(ws, join(root, "home"));
    places = { workingDir: join(root, "home") };
    await write("a.txt", "x");
    expect(readFileSync(join(ws, "a.txt"), "utf8")).toBe("x");
  });
});
