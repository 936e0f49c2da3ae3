/** Files that only the owner's agents may write: no other form of their names gets around it. */
import {
  existsSync,
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
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Tool, ToolContext } from "../../../core/ports/tool.ts";
import { allowedPath, checkPathText, type Places } from "./allowed-path.ts";
import { realDisk } from "./disk.ts";
import { fileTools } from "./file-tools.ts";

let root: string;
let own: string;
let shared: string;
let places: Places;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "rookery-guard-")));
  [own, shared] = [join(root, "own"), join(root, "shared")];
  for (const directory of [own, join(shared, "cron")]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(shared, "SOUL.md"), "kind");
  writeFileSync(join(shared, "cron", "task.txt"), "kind");
  places = {
    workingDir: own,
    writeDirs: [shared],
    guarded: { roots: [shared], files: ["SOUL.md", "IDENTITY.md"], directories: ["cron"] },
  };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function call(name: string, input: Record<string, unknown>): Promise<string> {
  const tool = fileTools({ placesOf: () => places }).find((one) => one.name === name) as Tool;
  const context = { agent: { id: "a" } as AgentRecord, runId: "r", callId: "c" } as unknown as ToolContext;
  const { content } = await tool.execute(tool.input.parse(input), context);
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
const write = (path: string): Promise<string> => call("write", { path: join(shared, path), content: "mean" });
const DENIED = "only the owner's agents can write it";

it.each([
  ["itself", "SOUL.md"],
  ["in another case", "soul.MD"],
  ["in a directory", "a/b/SOUL.md"],
  ["as a directory", "SOUL.md/x"],
  ["with a point at the end", "SOUL.md."],
  ["with blanks and points at the end", "SOUL.md. ."],
  ["in wide letters", "ＳＯＵＬ.md"],
  ["with a letter that becomes another in capitals", "ſOUL.md"],
  ["with a letter without its dot", "\u0131dent\u0131ty.md"],
  ["with a character that no one sees", "SO\u200bUL.md"],
  ["with a soft hyphen", "SOUL\u00ad.md"],
  ["behind a way back", "a/../SOUL.md"],
  ["a file of a guarded directory", "cron/new.txt"],
  ["a file deep in one", "x/Cron/y/z.txt"],
  ["the directory itself", "CRON"],
])("a guarded file is not written: %s", async (_, path) => {
  await expect(write(path)).rejects.toThrow(DENIED);
  expect(readFileSync(join(shared, "SOUL.md"), "utf8")).toBe("kind");
  expect(existsSync(join(shared, "a"))).toBe(false);
});

it.each(["SOUL.txt", "my-SOUL.md", "SOUL.md.bak", ".SOUL.md", "cron.txt", "crontab/x"])(
  "a file whose name is only similar is written: %s",
  async (path) => {
    expect(await write(path)).toBe(`Wrote ${join(shared, path)} (4 bytes).`);
  },
);

it.each<[string, (path: string) => Record<string, unknown>]>([
  ["edit", (path) => ({ path, oldText: "kind", newText: "mean" })],
  ["apply_patch", (path) => ({ patch: `*** Begin Patch\n*** Update File: ${path}\n-kind\n+mean\n*** End Patch` })],
])("a guarded file is read, and not changed by %s", async (name, input) => {
  const path = join(shared, "SOUL.md");
  expect(await call("read", { path })).toBe("kind");
  const said = await call(name, input(path)).catch((error: Error) => error.message);
  expect(said).toContain(DENIED);
  expect(readFileSync(path, "utf8")).toBe("kind");
});

it("a guarded file is not deleted by a patch", async () => {
  const said = await call("apply_patch", {
    patch: `*** Begin Patch\n*** Delete File: ${join(shared, "cron", "task.txt")}\n*** End Patch`,
  });
  expect(said).toContain(DENIED);
  expect(existsSync(join(shared, "cron", "task.txt"))).toBe(true);
});

it("links get around it neither way: the real name counts", async () => {
  symlinkSync(join(shared, "SOUL.md"), join(shared, "plain.txt"));
  symlinkSync(join(shared, "cron"), join(own, "jobs"));
  await expect(write("plain.txt")).rejects.toThrow(DENIED);
  await expect(call("write", { path: "jobs/x.txt", content: "mean" })).rejects.toThrow(DENIED);
  expect(readFileSync(join(shared, "SOUL.md"), "utf8")).toBe("kind");
});

it("the working directory has no guarded files, and other roots have them although they are not named as writable", async () => {
  expect(await call("write", { path: "SOUL.md", content: "mine" })).toBe("Wrote SOUL.md (4 bytes).");
  expect(await call("write", { path: "cron/x", content: "mine" })).toBe("Wrote cron/x (4 bytes).");
  // The directory that contains both is writable: the guarded workspace lies below it.
  places = { ...places, writeDirs: [root], guarded: { roots: [], files: ["SOUL.md"], directories: [] } };
  await expect(write("SOUL.md")).rejects.toThrow(DENIED);
  places = { ...places, guarded: undefined };
  expect(await write("SOUL.md")).toContain("Replaced");
});

it("a root that does not exist hides no other", async () => {
  places = {
    ...places,
    guarded: { roots: [join(root, "missing"), shared], files: ["SOUL.md"], directories: [] },
    writeDirs: [join(root, "none"), shared],
  };
  await expect(write("SOUL.md")).rejects.toThrow(DENIED);
});

describe("the text of a path", () => {
  it.each<[string, string]>([
    ["a line separator", "a\u2028b"],
    ["an end of a text direction", "a\u2069b"],
    ["a delete character", "a\u007fb"],
    ["a control character of the second block", "a\u0085b"],
    ["a tab", "a\tb"],
  ])("is refused with %s", (_, path) => {
    expect(() => checkPathText(path)).toThrow("it contains control characters");
  });

  it("has limits for the whole and for each name, in bytes", () => {
    expect(() => checkPathText("x/".repeat(2_048))).not.toThrow();
    expect(() => checkPathText(`${"x/".repeat(2_048)}x`)).toThrow("longer than 4096 characters");
    expect(() => checkPathText("x".repeat(255))).not.toThrow();
    expect(() => checkPathText("x".repeat(256))).toThrow("longer than 255 bytes");
    expect(() => checkPathText(`${"é".repeat(127)}/${"é".repeat(128)}`)).toThrow("longer than 255 bytes");
    expect(() => checkPathText("日本.txt")).not.toThrow();
  });
});

it("tells what exists of a path from what does not, and takes a file in its way for a missing name", async () => {
  writeFileSync(join(own, "f"), "");
  const real = (path: string) => allowedPath(realDisk, places, path, "read");
  expect(await real("a/b")).toEqual({ existing: own, missing: ["a", "b"] });
  expect(await real("f/b")).toEqual({ existing: join(own, "f"), missing: ["b"] });
  expect(await real(".")).toEqual({ existing: own, missing: [] });
});
