/** Completion in real shells: each loads its script, asks the program, and offers the words. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../../test/kit/needs.ts";
import { cliHome, runCommand, TERMINAL } from "./cli.test-kit.ts";

const MAIN = join(import.meta.dirname, "..", "..", "main.ts");
const home = cliHome();

const words = async (...typed: readonly string[]): Promise<readonly string[]> => {
  const { out } = await runCommand(["config", "completion", "words", "--home", home.dir, "--", ...typed]);
  return out.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
};

describe("the words of an unfinished command line", () => {
  it("are commands, actions and flags that begin with the last word", async () => {
    expect(await words("ru")).toEqual(["runs"]);
    expect(await words("people", "tokens", "")).toEqual(["list", "add", "remove"]);
    expect(await words("schedules", "r")).toEqual(["remove", "run", "runs"]);
    expect(await words("runs", "list", "--li")).toEqual(["--limit"]);
    expect(await words("--home", "/tmp", "dem")).toEqual(["demo"]);
    expect(await words("config", "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(await words("no-such", "")).toEqual([]);
  });

  it("are agents, people, models and providers of the home", async () => {
    const { id } = await home.make({ type: "user", connector: "telegram", userId: "42", channelId: "42" });
    await home.make(TERMINAL);
    await home.commit([
      {
        op: "person.put",
        person: { id: "ann", role: "guest", accounts: [], grants: [], createdAt: 1, createdBy: "owner" },
      },
    ]);
    expect(await words("agents", "show", "")).toEqual(expect.arrayContaining(["main", id]));
    expect(await words("agents", "show", id.slice(0, 3))).toEqual([id]);
    expect(await words("people", "show", "")).toEqual(["ann"]);
    expect(await words("models", "keys", "add", "anth")).toEqual(["anthropic"]);
    expect(await words("schedules", "add", "--model", "off")).toEqual(["offline"]);
  });

  it("are none if the home has no database", async () => {
    expect(await words("agents", "show", "")).toEqual([]);
  });
});

describe("in a shell", () => {
  const bin = mkdtempSync(join(tmpdir(), "rookery-completion-"));
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    HOME: bin,
    ROOKERY_HOME: join(bin, "home"),
    TERM: "dumb",
  };
  beforeAll(() => {
    mkdirSync(join(bin, "home"));
    writeFileSync(join(bin, "rookery"), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(bin, "rookery"), 0o755);
  });
  afterAll(() => rmSync(bin, { recursive: true, force: true }));
  const shell = (name: string, ...args: readonly string[]) => spawnSync(name, args, { env, encoding: "utf8" });

  it("bash offers the words", () => {
    const script = `eval "$(rookery config completion bash)"; COMP_WORDS=(rookery people tokens re); COMP_CWORD=3; _rookery; echo "\${COMPREPLY[@]}"`;
    expect(shell("bash", "--norc", "-c", script)).toMatchObject({ stdout: "remove\n", stderr: "" });
  });

  it("zsh offers the words", needs("zsh"), () => {
    const script = `compdef() { :; }; compadd() { print -l -- $names; }; eval "$(rookery config completion zsh)"; words=(rookery people tokens re); CURRENT=4; _rookery`;
    expect(shell("zsh", "-f", "-c", script)).toMatchObject({ stdout: "remove\n", stderr: "" });
  });

  it("fish offers the words", needs("fish"), () => {
    const script = `rookery config completion fish | source; complete -C 'rookery people tokens re'`;
    const { stdout, stderr } = shell("fish", "--no-config", "-c", script);
    expect(stdout).toMatch(/^remove\t/);
    expect(stderr).toBe("");
  });
});
