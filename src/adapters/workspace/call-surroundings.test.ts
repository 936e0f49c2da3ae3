/** What an approval covers of the world around a call. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { RunId } from "../../core/ids.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { digestOf } from "../../engine/approvals/call-digest.ts";
import { callSurroundings } from "./call-surroundings.ts";

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
  { guest, rights = [] as ("exec" | "write")[] } = {} as { guest?: string; rights?: ("exec" | "write")[] },
) =>
  callSurroundings(
    async () => ({ instructions: own, own, guest }),
    () => ({ PATH: "/bin", SECRET: "no one sees this" }),
  )({} as AgentRecord, call(given), rights, "r" as RunId);
const digest = async (given: Record<string, unknown>) => digestOf(call(given), await around(given));

describe("what a call depends on", () => {
  it("are its directory, the files it names at any depth, and for commands the names of the environment", async () => {
    const given = { command: ["run", "a.sh"], more: { at: join(own, "a.sh"), not: "missing", dir: "." } };
    const found = await around(given, { rights: ["exec"] });
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
});
