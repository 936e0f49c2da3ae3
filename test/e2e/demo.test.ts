/** The demo as a person starts it: its counts are true. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { checkDocument, printsDocumentsOf } from "../../src/app/cli/command-document.test-kit.ts";
import { MAIN } from "../kit/terminal.ts";

const demo = (env: Readonly<Record<string, string>>, ...argv: readonly string[]) =>
  promisify(execFile)(process.execPath, [MAIN, "demo", ...argv], { env: { ...process.env, ...env } });

it("loses and doubles no message over a real kill -9, and leaves nothing behind", async () => {
  const [{ stdout }, counted] = await Promise.all([demo({ NO_COLOR: "1" }), demo({}, "--json")]);
  await checkDocument(["demo", "--json"], { code: 0, out: counted.stdout, err: counted.stderr });
  expect(JSON.parse(counted.stdout)).toEqual({ accepted: 16, answered: 15, stopped: 1, lost: 0, doubled: 0 });
  expect(stdout).toMatch(/kill -9 \d+ accepted, not answered/u);
  expect(stdout).toContain("Reminder: drink tea");
  expect(stdout).toContain("completed successfully");
  expect(stdout).toContain("4 runs answered them (queue)");
  expect(stdout).toMatch(/(?:one run|[23] runs) answered them \(collect\)/u);
  expect(stdout).toContain("accepted 16 · answered 15 · stopped by the budget 1 · lost 0 · doubled 0");
  expect(stdout).toContain("The budget of this agent is nearly used up");
  const home = /scratch home (\S+),/u.exec(stdout)?.[1] ?? "";
  expect(existsSync(home)).toBe(false);
});

it("says with --json why it cannot start", async () => {
  const error = await demo({ TMPDIR: "/nowhere" }, "--json").catch((thrown) => thrown);
  await checkDocument(["demo", "--json"], { code: error.code, out: error.stdout, err: error.stderr });
  expect([error.code, error.stdout]).toEqual([3, ""]);
  expect(JSON.parse(error.stderr).error).toMatchObject({ code: "config", hint: expect.stringContaining("TMPDIR") });
});

printsDocumentsOf("demo");
