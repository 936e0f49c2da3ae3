import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileChange } from "../../../core/file-change.ts";
import type { Tool, ToolContext } from "../../../core/ports/tool.ts";
import { type KeepsChanges, keepsNothing, type NewChange } from "./file-changes.ts";
import { fileTools } from "./file-tools.ts";
import { ON_DISK, type Trusted } from "./prompt-guard.ts";
import { MAX_FILE_BYTES } from "./read-text.ts";

let ws: string;
let changes: KeepsChanges;
beforeEach(() => {
  ws = realpathSync(mkdtempSync(join(tmpdir(), "rookery-read-")));
  changes = keepsNothing;
});
afterEach(() => rmSync(ws, { recursive: true, force: true }));

const toolNamed = (name: string): Tool =>
  fileTools({ placesOf: () => ({ workingDir: ws }), changes }).find((one) => one.name === name) as Tool;
const context = { agent: { id: "a", state: {} }, agentId: "a", runId: "r", callId: "c" } as unknown as ToolContext;
async function call(name: string, input: object): Promise<string> {
  const tool = toolNamed(name);
  const { content } = await tool.execute(tool.input.parse(input), context);
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
const inFile = (text: string | Buffer): void => writeFileSync(join(ws, "f"), text);
const read = (more: object = {}): Promise<string> => call("read", { path: "f", ...more });

describe("a part of a file", () => {
  it.each<[string, string, object, string]>([
    ["a file of one line", "a\n", {}, "a"],
    ["an empty last line", "a\n\n", {}, "a\n"],
    ["a file that is one empty line", "\n", {}, ""],
    ["the last line", "a\nb\nc\n", { offset: 3 }, "c"],
    ["the lines up to the last", "a\nb\nc\n", { offset: 2, limit: 2 }, "b\nc"],
    ["all lines but the last", "a\nb\nc\n", { limit: 2 }, "a\nb\n\n[lines 1 to 2 of 3; go on with offset 3]"],
    ["a line in the middle", "a\nb\nc\n", { offset: 2, limit: 1 }, "b\n\n[lines 2 to 2 of 3; go on with offset 3]"],
    ["a text with a byte order mark, as it is", "\ufeffa", {}, "\ufeffa"],
    ["a text with other line ends, as it is", "a\r\nb\r\n", {}, "a\r\nb\r"],
  ])("shows %s", async (_, text, given, shown) => {
    inFile(text);
    expect(await read(given)).toBe(shown);
  });

  it.each([
    ["a\nb\n", 3, "f has 2 lines only."],
    ["a", 2, "f has 1 lines only."],
  ])("of %j beginning at line %i does not exist", async (text, offset, problem) => {
    inFile(text);
    await expect(read({ offset })).rejects.toThrow(problem);
  });

  it("is as long as it may be, and no longer", async () => {
    const [most, half] = [40_000, 20_000];
    inFile("x".repeat(most));
    expect(await read()).toBe("x".repeat(most));
    inFile("x".repeat(most + 1));
    expect(await read()).toBe(`${"x".repeat(most)}\n\n[line 1 is cut, it has ${most + 1} characters]`);
    // Each line end counts too.
    inFile(`${"x".repeat(half)}\n${"y".repeat(half - 2)}`);
    expect(await read()).toHaveLength(most - 1);
    inFile(`${"x".repeat(half)}\n${"y".repeat(half)}`);
    expect(await read()).toBe(`${"x".repeat(half)}\n\n[lines 1 to 1 of 2; go on with offset 2]`);
  });

  it("begins with any line, also one that is too long", async () => {
    inFile(`a\n${"x".repeat(40_001)}\nb`);
    expect(await read()).toBe("a\n\n[lines 1 to 1 of 3; go on with offset 2]");
    const text = await read({ offset: 2 });
    expect(text).toContain("[line 2 is cut, it has 40001 characters; lines 2 to 2 of 3; go on with offset 3]");
    expect(text.length).toBeLessThanOrEqual(toolNamed("read").maxOutput);
  });

  it.each([0, -1, 1.5, 2 ** 53, "1"])("does not begin at %j", (offset) => {
    expect(toolNamed("read").input.safeParse({ path: "f", offset }).success).toBe(false);
  });
});

it("reads and writes files up to the limit", async () => {
  inFile(Buffer.alloc(MAX_FILE_BYTES, "x"));
  expect(await read()).toContain("line 1 is cut");
  inFile(Buffer.alloc(MAX_FILE_BYTES + 1, "x"));
  await expect(read()).rejects.toThrow(`f is larger than ${MAX_FILE_BYTES} bytes`);
  await call("write", { path: "g", content: "é".repeat(MAX_FILE_BYTES / 2) });
  await expect(call("write", { path: "g", content: `${"é".repeat(MAX_FILE_BYTES / 2)}x` })).rejects.toThrow(
    "is the limit",
  );
  inFile("ab");
  await expect(call("edit", { path: "f", oldText: "a", newText: "x".repeat(MAX_FILE_BYTES) })).rejects.toThrow(
    "the limit",
  );
  expect(readFileSync(join(ws, "f"), "utf8")).toBe("ab");
});

describe("a file that a running command may have changed", () => {
  const keeping = (trusted: Trusted): KeepsChanges => ({
    ...keepsNothing,
    trusted: (path) => (path === join(ws, "f") ? trusted : ON_DISK),
  });

  it("is shown, edited and patched as it counts", async () => {
    inFile("obey");
    changes = keeping({ is: "text", bytes: Buffer.from("kind") });
    expect(await read()).toBe("kind");
    await expect(call("edit", { path: "f", oldText: "obey", newText: "x" })).rejects.toThrow("is not in f");
    const patch = "*** Begin Patch\n*** Update File: f\n-obey\n+x\n*** End Patch";
    await expect(call("apply_patch", { patch })).rejects.toThrow("does not fit");
  });

  it("does not exist if it did not before", async () => {
    inFile("obey");
    changes = keeping({ is: "absent" });
    await expect(read()).rejects.toThrow("There is no file f.");
    await expect(call("edit", { path: "f", oldText: "obey", newText: "x" })).rejects.toThrow("There is no file f.");
  });
});

describe("a change that is kept", () => {
  let kept: NewChange[];
  let made: FileChange["state"] | undefined;
  beforeEach(() => {
    [kept, made] = [[], undefined];
    changes = {
      ...keepsNothing,
      keeps: (path) => path === join(ws, "f"),
      async around(change, write) {
        kept.push(change);
        await write();
        return 1;
      },
      ofCall: async () => (made === undefined ? undefined : ({ state: made } as FileChange)),
    };
  });

  it("names the file, its new content and its author, also for a file that is deleted", async () => {
    inFile("a\n");
    await call("edit", { path: "f", oldText: "a", newText: "b" });
    await call("apply_patch", { patch: "*** Begin Patch\n*** Delete File: f\n*** Add File: g\n+x\n*** End Patch" });
    const by = { person: "owner", surface: "run", agentId: "a", runId: "r", callId: "c" };
    expect(kept).toEqual([
      { path: join(ws, "f"), after: "b\n", by: { ...by, tool: "edit" } },
      { path: join(ws, "f"), after: null, by: { ...by, tool: "apply_patch" } },
      { path: join(ws, "g"), after: "x\n", by: { ...by, tool: "apply_patch" } },
    ]);
  });

  it.each<[FileChange["state"] | undefined, boolean]>([
    ["done", true],
    ["begun" as FileChange["state"], false],
    [undefined, false],
  ])("is not made again after a crash if it is %s", async (state, isMade) => {
    inFile("a person has changed it since");
    made = state;
    await call("write", { path: "f", content: "b" });
    expect(readFileSync(join(ws, "f"), "utf8")).toBe(isMade ? "a person has changed it since" : "b");
    expect(await toolNamed("write").made?.({ runId: "r", callId: "c" } as never)).toBe(isMade);
  });

  it("is shown to people as a difference, and not for other files", async () => {
    inFile("a\nb\n");
    const preview = (name: string, input: object) => toolNamed(name).preview?.(input, context.agent);
    const patch = (...paths: readonly string[]) => ({
      patch: ["*** Begin Patch", ...paths.flatMap((path) => [`*** Add File: ${path}`, "+x"]), "*** End Patch"].join(
        "\n",
      ),
    });
    expect(await preview("write", { path: "f", content: "a\nc\n" })).toMatch(/-b\n\+c/);
    expect(await preview("edit", { path: "f", oldText: "b", newText: "c" })).toMatch(/-b\n\+c/);
    expect(await preview("write", { path: "g", content: "x" })).toBeUndefined();
    expect(await preview("apply_patch", patch("f"))).toMatch(/\+x/);
    // A person sees all of a patch or none of it.
    expect(await preview("apply_patch", patch("f", "g"))).toBeUndefined();
    expect(await preview("write", { path: "f", content: "x".repeat(1_000_001) })).toBeUndefined();
    await expect(preview("write", { path: "../f", content: "x" })).rejects.toThrow("outside the allowed directories");
  });
});
