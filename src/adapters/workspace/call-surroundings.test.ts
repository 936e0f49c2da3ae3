/** What an approval covers of the world around a call. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import type { Tool } from "../../core/ports/tool.ts";
import type { Effect } from "../../core/rights/decide.ts";
import { splitShellLine } from "../../core/rights/shell-line.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { digestOf } from "../../engine/approvals/call-digest.ts";
import { callSurroundings, previews } from "./call-surroundings.ts";

let root: string;
let own: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rookery-surroundings-"));
  own = join(root, "own");
  mkdirSync(own);
  writeFileSync(join(own, "a.sh"), "one");
  writeFileSync(join(root, "secret"), "x");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const call = (given: Record<string, unknown>): CallRecord => ({
  ...{ callId: "c", name: "exec", arguments: given, replay: "never", state: "asked" },
});
const around = (
  given: Record<string, unknown>,
  { guest, effects = [] }: { guest?: string; effects?: readonly Effect[] } = {},
) =>
  callSurroundings(
    async () => ({ instructions: own, own, guest }),
    () => ({ PATH: "/bin", SECRET: "no one sees this" }),
  )({} as AgentRecord, call(given), effects, "r" as RunId);
const EXEC: Effect = { action: "exec", rights: ["exec"] };
const runs = (line: string, cwd = own): readonly Effect[] => {
  const split = splitShellLine(line);
  if ("unparsed" in split) {
    return [{ ...EXEC, detail: { kind: "unparsed", line, cwd, why: split.unparsed } }];
  }
  return split.parts.map((argv): Effect => ({ ...EXEC, detail: { kind: "command", argv, cwd } }));
};
const digest = async (given: Record<string, unknown>) => digestOf(call(given), await around(given));

describe("what a call depends on", () => {
  it("are its directory, the files it names at any depth, and for commands the names of the environment", async () => {
    const given = { command: ["run", "a.sh"], more: { at: join(own, "a.sh"), not: "missing", dir: "." } };
    const found = await around(given, { effects: [EXEC] });
    expect(Object.keys(found.files ?? {}).sort()).toEqual([join(own, "a.sh"), "a.sh"]);
    expect(found).toMatchObject({ directory: own, environment: ["PATH", "SECRET"] });
    expect(JSON.stringify(found)).not.toContain("no one sees this");
    expect((await around(given)).environment).toBeUndefined();
  });

  it("has another digest when a file, an argument or the tool changes, and the same in another order of fields", async () => {
    const first = await digest({ a: "a.sh", b: 1 });
    expect(await digest({ b: 1, a: "a.sh" })).toBe(first);
    expect(await digest({ a: "a.sh", b: 2 })).not.toBe(first);
    writeFileSync(join(own, "a.sh"), "two");
    expect(await digest({ a: "a.sh", b: 1 })).not.toBe(first);
  });

  it("is nothing outside of a guest's directory, not even through a link: whether a file exists stays hidden", async () => {
    symlinkSync(join(root, "secret"), join(own, "link"));
    const given = { a: "../secret", b: join(root, "secret"), c: "link", d: "a.sh" };
    expect(Object.keys((await around(given, { guest: "ann" })).files ?? {})).toEqual(["a.sh"]);
    expect(Object.keys((await around(given)).files ?? {})).toHaveLength(4);
  });

  it("is bounded: names that are too long or too many are not looked at", async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, `x${n}`]));
    const found = await around({ ...many, long: "y".repeat(100_000), broken: "a\nb", nul: "a\0b" });
    expect(found.files).toEqual({});
  });

  it("is only its environment for an agent without files", async () => {
    const of = callSurroundings(
      async () => ({ instructions: own, own: undefined }),
      () => ({ PATH: "/bin" }),
      () => expect.unreachable(),
    );
    const found = await of({} as AgentRecord, call({ a: join(own, "a.sh") }), [EXEC], "r" as RunId);
    expect(found).toEqual({ environment: ["PATH"] });
  });

  it("includes the last name of many, and a name of the greatest length", async () => {
    const names = Array.from({ length: 199 }, (_, n) => `x${n}`);
    expect(Object.keys((await around({ names: ["a.sh", ...names] })).files ?? {})).toEqual(["a.sh"]);
    const long = `${"./".repeat(2_046)}a.sh`;
    expect(Object.keys((await around({ long, longer: `./${long}` })).files ?? {})).toEqual([long]);
  });

  it.each([
    ["a script of a shell", "sh a.sh"],
    ["a script that is called by itself", "./a.sh --fast"],
    ["the second command of a line", "echo start && python3 a.sh"],
    ["the value of an option", "run --file=a.sh"],
    ["the value behind a letter", "run -fa.sh"],
    ["a line with a variable", "for n in 1 2; do sh a.sh $n; done"],
    ["a line that changes the directory", "cd . && ./a.sh"],
  ])("covers %s: %s", async (_, line) => {
    const given = { command: line };
    const effects = runs(line);
    const before = digestOf(call(given), await around(given, { effects }));
    expect(digestOf(call(given), await around(given, { effects }))).toBe(before);
    writeFileSync(join(own, "a.sh"), "two");
    const after = await around(given, { effects });
    expect(digestOf(call(given), after)).not.toBe(before);
    expect(Object.keys(after.files ?? {}).map((name) => name.endsWith("a.sh"))).toEqual([true]);
  });

  it.each([
    ["make test", "Makefile"],
    ["npm run build", "package.json"],
  ])("covers what %s takes from %s", async (line, file) => {
    writeFileSync(join(own, file), "one");
    expect((await around({ command: line }, { effects: runs(line) })).files).toHaveProperty([`./${file}`]);
  });

  it("finds the files of a command in its directory", async () => {
    mkdirSync(join(own, "sub"));
    writeFileSync(join(own, "sub", "b.sh"), "one");
    const found = await around({ command: "sh b.sh", cwd: "sub" }, { effects: runs("sh b.sh", join(own, "sub")) });
    expect(Object.keys(found.files ?? {})).toEqual([join(own, "sub", "b.sh")]);
    const hidden = await around({}, { guest: "ann", effects: runs("sh secret", root) });
    expect(hidden.files).toEqual({});
  });

  it("covers a very large file by its size and time", async () => {
    const path = join(own, "large");
    writeFileSync(path, "");
    truncateSync(path, 64_000_001);
    utimesSync(path, 1, 1);
    expect(await around({ path })).toMatchObject({ files: { [path]: "64000001 bytes of 1000" } });
  });
});

describe("what a tool shows of a call", () => {
  const shown = (tool: Partial<Tool> | undefined, given: Record<string, unknown> = { n: 1 }) =>
    previews({ find: () => tool && ({ input: z.object({ n: z.number() }), ...tool } as Tool) })(
      {} as AgentRecord,
      call(given),
      "r" as RunId,
    );
  const preview = async (input: unknown): Promise<string> => JSON.stringify(input);

  it.each<[string, Partial<Tool> | undefined, Record<string, unknown>, object]>([
    ["nothing of a tool that is not there", undefined, {}, {}],
    ["nothing of a tool that shows nothing", { made: async () => true }, { n: 1 }, {}],
    ["nothing of arguments that the tool would refuse", { preview, made: async () => true }, { n: "1" }, {}],
    ["its arguments as the tool reads them", { preview }, { n: 1, more: 2 }, { preview: '{"n":1}' }],
    ["no preview if that fails", { preview: () => Promise.reject(new TypeError("no")) }, { n: 1 }, {}],
    ["that it was made", { preview, made: async () => true }, { n: 1 }, { preview: '{"n":1}', made: true }],
  ])("is %s", async (_, tool, given, expected) => {
    expect(await shown(tool, given)).toEqual(expected);
  });

  it("is asked for the call of this run", async () => {
    const asked: unknown[] = [];
    await shown({ preview, made: async (one) => asked.push(one) > 0 });
    expect(asked).toEqual([{ runId: "r", callId: "c" }]);
  });

  it("is part of what an approval covers", async () => {
    const of = callSurroundings(
      async () => ({ instructions: own, own }),
      () => ({}),
      async () => ({ preview: "one line", made: false }),
    );
    expect(await of({} as AgentRecord, call({}), [], "r" as RunId)).toMatchObject({ preview: "one line", made: false });
  });
});
