/** `grep`, `find`, `apply_patch` and images in `read`: what they do, and that nothing leads out of the workspace. */
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Block } from "../../../core/history/entry.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import type { Places } from "./allowed-path.ts";
import { patched } from "./apply-hunks.ts";
import { type Disk, realDisk } from "./disk.ts";
import { fileTools } from "./file-tools.ts";

let root: string;
let ws: string;
let places: Places;
const at = (path: string): string => join(ws, path);

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-search-")));
  ws = join(root, "ws");
  mkdirSync(join(ws, "src"), { recursive: true });
  mkdirSync(join(root, "outside"));
  writeFileSync(join(root, "outside", "secret.txt"), "needle of the secret\n");
  writeFileSync(at("a.txt"), "one\nneedle here\nthree\n");
  writeFileSync(at("src/b.ts"), "const Needle = 1;\n");
  places = { workingDir: ws };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function blocks(name: string, input: Record<string, unknown>, disk: Disk = realDisk): Promise<readonly Block[]> {
  const tool = fileTools({ placesOf: () => places }, disk).find((one) => one.name === name);
  const context = {
    agent: { id: "a" } as AgentRecord,
    agentId: "a" as AgentId,
    runId: "r" as RunId,
    callId: "c",
    effectKey: "k",
  };
  const signal = new AbortController().signal;
  return (await tool?.execute(tool.input.parse(input), { ...context, signal, progress() {} }))?.content ?? [];
}
const call = async (name: string, input: Record<string, unknown>, disk?: Disk): Promise<string> =>
  (await blocks(name, input, disk)).map((block) => (block.type === "text" ? block.text : "")).join("");
const patch = (...lines: readonly string[]): Promise<string> =>
  call("apply_patch", { patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });

it("grep shows file, line number and line", async () => {
  expect(await call("grep", { pattern: "needle" })).toBe("a.txt:2:needle here");
  expect(await call("grep", { pattern: "needle", ignoreCase: true, glob: "*.ts" })).toBe(
    "src/b.ts:1:const Needle = 1;",
  );
  expect(await call("grep", { pattern: "^const", path: "src" })).toBe("src/b.ts:1:const Needle = 1;");
  expect(await call("grep", { pattern: "nothing" })).toBe("No match.");
  await expect(call("grep", { pattern: "(" })).rejects.toThrow("Not a pattern");
});

it("grep and find show nothing outside: not by a path, a link or an option", async () => {
  symlinkSync(join(root, "outside"), at("link"));
  symlinkSync(join(root, "outside", "secret.txt"), at("secret.txt"));
  expect(await call("grep", { pattern: "needle" })).toBe("a.txt:2:needle here");
  expect(await call("find", { glob: "**/*secret*" })).toBe("No file matches.");
  for (const path of ["../outside", "link", root, "/"]) {
    await expect(call("grep", { pattern: "needle", path })).rejects.toThrow("outside the allowed directories");
    await expect(call("find", { glob: "*", path })).rejects.toThrow("outside the allowed directories");
  }
  expect(await call("grep", { pattern: "--pre=/bin/sh" })).toBe("No match.");
  expect(await call("grep", { pattern: "--follow" })).toBe("No match.");
  expect(await call("find", { glob: "../outside/*" })).toBe("No file matches.");
  expect(await call("grep", { pattern: "needle", glob: "--follow" })).toBe("No match.");
});

it("grep shows nothing of a file that is replaced by a link after it was found", async () => {
  let swapped = false;
  const racing: Disk = {
    ...realDisk,
    async realpath(path) {
      const real = await realDisk.realpath(path);
      if (path === at("a.txt") && !swapped) {
        swapped = true;
        rmSync(at("a.txt"));
        symlinkSync(join(root, "outside", "secret.txt"), at("a.txt"));
      }
      return real;
    },
  };
  expect(await call("grep", { pattern: "needle" }, racing)).toBe("No match.");
  expect(swapped).toBe(true);
});

it("grep reads the directory that was opened, not one that takes its place", async () => {
  const racing: Disk = {
    ...realDisk,
    async readlink(path) {
      const real = await realDisk.readlink(path);
      if (real === at("src") && existsSync(at("src")) && !existsSync(at("was"))) {
        renameSync(at("src"), at("was"));
        symlinkSync(join(root, "outside"), at("src"));
      }
      return real;
    },
  };
  expect(await call("grep", { pattern: "needle", path: "src" }, racing)).not.toContain("secret");
});

it("grep is bounded on worst patterns and much output", async () => {
  writeFileSync(at("worst.txt"), `${"a".repeat(200_000)}!\n`);
  expect(await call("grep", { pattern: "(a+)+$", glob: "worst.txt" })).toBe("No match.");
  writeFileSync(at("long.txt"), "needle\n".repeat(100_000));
  const text = await call("grep", { pattern: "needle", glob: "long.txt" });
  expect(text.length).toBeLessThan(21_000);
  expect(text).toContain("[there is more");
});

it("find lists files by name, without names that no path can have", async () => {
  writeFileSync(at("src/c\nd.ts"), "");
  expect(await call("find", { glob: "*.ts" })).toBe("src/b.ts");
});

it("apply_patch adds, updates and deletes files", async () => {
  const said = await patch(
    ...["*** Add File: new/n.txt", "+first", "+second"],
    ...["*** Update File: a.txt", "@@", " one", "-needle here", "+pin there", " three"],
    ...["*** Delete File: src/b.ts"],
  );
  expect(said).toBe("Added new/n.txt.\nUpdated a.txt.\nDeleted src/b.ts.");
  expect(readFileSync(at("new/n.txt"), "utf8")).toBe("first\nsecond\n");
  expect(readFileSync(at("a.txt"), "utf8")).toBe("one\npin there\nthree\n");
  expect(existsSync(at("src/b.ts"))).toBe(false);
});

it.each<[string, readonly string[], string]>([
  ["a hunk that does not fit", ["*** Update File: a.txt", "-two"], "does not fit"],
  ["a file that exists", ["*** Add File: a.txt", "+x"], "exists already"],
  ["a path outside", ["*** Add File: ../x.txt", "+x"], "outside the allowed directories"],
  ["a link", ["*** Update File: link.txt", "-needle of the secret", "+x"], "outside the allowed directories"],
  ["a file twice", ["*** Add File: x", "+x", "*** Add File: x", "+y"], "twice"],
  ["a line without a sign", ["*** Update File: a.txt", "one"], "expected a line"],
])("apply_patch with %s changes nothing", async (_, lines, problem) => {
  symlinkSync(join(root, "outside", "secret.txt"), at("link.txt"));
  const first = ["*** Update File: src/b.ts", "-const Needle = 1;", "+changed"];
  await expect(patch(...first, ...lines)).rejects.toThrow(problem);
  expect(readFileSync(at("src/b.ts"), "utf8")).toBe("const Needle = 1;\n");
  expect(readFileSync(join(root, "outside", "secret.txt"), "utf8")).toBe("needle of the secret\n");
});

it("apply_patch leaves a file outside alone that shares its content by a hard link", async () => {
  linkSync(join(root, "outside", "secret.txt"), at("hard.txt"));
  await patch("*** Update File: hard.txt", "-needle of the secret", "+changed");
  expect(readFileSync(join(root, "outside", "secret.txt"), "utf8")).toBe("needle of the secret\n");
});

it("a hunk that fits in two places needs a line before it", () => {
  const content = "def a:\n  x\ndef b:\n  x\n";
  expect(() => patched(content, [{ before: ["  x"], now: ["  y"] }], "f")).toThrow("more than one place");
  expect(patched(content, [{ after: "def b:", before: ["  x"], now: ["  y"] }], "f")).toBe(
    "def a:\n  x\ndef b:\n  y\n",
  );
  expect(patched(content, [{ after: "def a:", before: [], now: ["  w"] }], "f")).toBe(
    "def a:\n  w\n  x\ndef b:\n  x\n",
  );
});

it("a hunk replaces exactly its lines", () => {
  const line = fc.stringMatching(/^[ab]{0,2}$/);
  fc.assert(
    fc.property(fc.array(line, { minLength: 1 }), fc.nat(), fc.nat(), fc.array(line), (lines, from, length, now) => {
      const start = from % lines.length;
      const before = lines.slice(start, start + 1 + (length % 3));
      const expected = [...lines.slice(0, start), ...now, ...lines.slice(start + before.length)];
      const text = (all: readonly string[]): string => (all.length === 0 ? "" : `${all.join("\n")}\n`);
      const same = lines.filter((_, index) => before.every((one, offset) => lines[index + offset] === one)).length;
      const run = () => patched(text(lines), [{ before, now }], "f");
      if (same > 1) expect(run).toThrow("more than one place");
      else expect(run()).toBe(text(expected));
    }),
  );
});

it("hunks are found in a time that grows with the length of the file only", () => {
  const many = Array.from({ length: 200_000 }, () => "a");
  const began = process.cpuUsage().user;
  expect(() => patched(`${many.join("\n")}\n`, [{ before: [...many.slice(0, 100_000), "b"], now: [] }], "f")).toThrow(
    "fit",
  );
  expect(process.cpuUsage().user - began).toBeLessThan(2_000_000);
});

it("read shows an image, scaled down, and refuses a damaged one", async () => {
  const { default: sharp } = await import("sharp");
  const png = await sharp({ create: { width: 3_000, height: 10, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  writeFileSync(at("red.png"), png);
  const [text, image] = await blocks("read", { path: "red.png" });
  expect(text).toMatchObject({ type: "text", text: `red.png: image/png, ${png.length} bytes` });
  const shown = await sharp(Buffer.from((image as { data: string }).data, "base64")).metadata();
  expect(shown.width).toBe(1_568);
  writeFileSync(at("bad.png"), png.subarray(0, 60));
  await expect(call("read", { path: "bad.png" })).rejects.toThrow("cannot be shown");
  writeFileSync(at("x.bin"), Buffer.from([1, 0, 2]));
  await expect(call("read", { path: "x.bin" })).rejects.toThrow("not a text file");
});
