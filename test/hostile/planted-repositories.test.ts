/** Commands that the owner's rules allow, and what they leave in repositories that git obeys. The sandbox and git are real. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openFileChanges } from "../../src/adapters/workspace/changes/open-file-changes.ts";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { AgentDescriptor } from "../../src/core/agent/descriptor.ts";
import { OWNER } from "../../src/core/people/person.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model } from "../../src/core/ports/model.ts";
import { makeDiskDirectory } from "../kit/disk-directory.ts";
import { needs } from "../kit/needs.ts";
import { hostGit, makeRepository, PLANTS, typeLine, writeProgram } from "./planted.test-kit.ts";

const paths = homePaths(makeDiskDirectory("rookery-planted-"));
const at = (...names: readonly string[]): string => join(paths.workspace, "code", ...names);
const about = { api: "a", provider: "p", model: "m" } as const;
const results: string[] = [];

/** Runs the line of `$ DIRECTORY: LINE` in the last message. */
const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const said = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
    const [, cwd, command] = /^\$ (.*?): (.*)$/m.exec(said) ?? [];
    if (last?.role === "tool") results.push(said);
    if (last?.role === "tool" || command === undefined)
      return { ...about, content: [{ type: "text", text: "done" }], stopReason: "stop" };
    const call = { type: "toolCall" as const, id: "c", name: "exec", arguments: { command, cwd } };
    return { ...about, content: [call], stopReason: "tool_calls" };
  },
};

const open = (allow: string): Promise<RookeryNode> =>
  openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      sandbox: { kind: "bwrap" },
      permissions: { allow: [allow] },
    }),
    env: process.env,
    connectors: [],
    model,
    log: silentLog,
    onFatal: (error) => expect.unreachable(String(error)),
  });
let node: RookeryNode;
beforeAll(async () => {
  node = await open("exec");
});
afterAll(async () => {
  await node.close();
  rmSync(paths.home, { recursive: true, force: true });
});

const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: at(), encoding: "utf8", env: { PATH: process.env.PATH, HOME: paths.home } });

beforeEach(() => {
  rmSync(at(), { recursive: true, force: true });
  mkdirSync(at("sub"), { recursive: true });
  git("init", "-q");
  git("init", "-q", "sub");
});

const OLGA = { type: "user", connector: "test", userId: "olga", channelId: "olga" } as const;
const CRON = { type: "cron", id: "nightly" } as const;

async function run(line: string, descriptor: AgentDescriptor = OLGA, cwd = "code"): Promise<string> {
  await node.agents.postAndAwait({
    to: { descriptor },
    body: { kind: "user", text: `$ ${cwd}: ${line}` },
    behalf: { person: OWNER },
  });
  return results.at(-1) ?? "";
}

const PLANT = "[core]\\n\\tfsmonitor = touch ran";
const settings = (): readonly string[] =>
  [".git/config", "sub/.git/config"].map((file) => readFileSync(at(file), "utf8"));

it.each<[string, string]>([
  ["the settings of a repository", `printf '${PLANT}' >> .git/config`],
  ["the settings of a deeper repository", `printf '${PLANT}' >> sub/.git/config`],
  ["a repository by another one", `mv sub/.git old; mkdir sub/.git; printf '${PLANT}' > sub/.git/config`],
  ["a hook", "touch sub/.git/hooks/pre-commit"],
])("lets no program but git change %s", needs("bwrap"), async (_, line) => {
  const before = settings();
  expect(await run(`sh -c ${JSON.stringify(line.replaceAll("$", "\\$"))}`)).toContain("exit code");
  expect(settings()).toEqual(before);
  expect(existsSync(at("sub/.git/hooks/pre-commit"))).toBe(false);
});

it("sets aside the settings of a repository that a program makes, and says so", needs("bwrap"), async () => {
  const made = await run(
    "sh -c 'mkdir -p deep/x && cd deep/x && mkdir objects refs && echo ref: refs/heads/main > HEAD && echo x > config; echo gitdir: y > ../.git'",
  );
  expect(made).toContain("set aside");
  expect(readdirSync(at("deep/x"))).toContain("config.proposed");
  expect(readdirSync(at("deep/x"))).not.toContain("config");
  expect(readdirSync(at("deep"))).toEqual([".git.proposed", "x"]);
});

it("lets no program but git change the settings that a worktree shares", needs("bwrap"), async () => {
  git("-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x");
  git("worktree", "add", "-q", "tree");
  const before = settings();
  await run("sh -c 'mv .git/HEAD .git/old'");
  await run(`sh -c "printf '${PLANT}' >> .git/config"`);
  await run("sh -c 'mv .git/old .git/HEAD'");
  expect(settings()).toEqual(before);
});

it("sets aside files that the settings name", needs("bwrap"), async () => {
  git("config", "core.hooksPath", ".husky");
  mkdirSync(at(".husky"));
  await run("sh -c 'echo x > .husky/pre-commit'");
  expect(existsSync(at(".husky/pre-commit"))).toBe(false);
});

it("lets git change no settings in a run that no one waits for", needs("bwrap"), async () => {
  const before = settings();
  expect(await run("git config core.fsmonitor x", CRON)).toMatch(/could not|read-only|busy/i);
  expect(settings()).toEqual(before);
});

describe("a rule that allows git", needs("bwrap"), () => {
  const program = (): string => join(paths.workspace, "program.sh");
  const ran = (): string => join(paths.workspace, "ran");
  const host = (cwd: string, ...args: readonly string[]): string => hostGit(paths.home, cwd, ...args);
  beforeAll(async () => {
    await node.close();
    node = await open("exec(git *)");
  });
  afterAll(async () => {
    await node.close();
    node = await open("exec");
  });

  it.each(PLANTS.map((one) => [one.what, one] as const))("starts no program of %s", async (_what, one) => {
    rmSync(at(), { recursive: true, force: true });
    makeRepository(host, at(), one.attributes);
    writeProgram(program());
    one.plant(at(), { git: host, program: program() });
    rmSync(ran(), { force: true });
    // Nobody waits for this run, so what asks is denied.
    for (const line of one.lines)
      expect(await run(line, CRON, join("code", one.cwd ?? "")), line).toContain(one.asks ? "Denied" : "exit code 0");
    expect(existsSync(ran())).toBe(false);
    // Git has to look at it again.
    utimesSync(at("a.txt"), 1, 1);
    typeLine(host, at(one.cwd ?? ""), one.lines[0] ?? "");
    expect(existsSync(ran()), "git runs the planted program").toBe(true);
  });

  it("asks if a git beside it gets no settings of the engine", async () => {
    writeFileSync(at(".git/config"), "[core]\n\tfsmonitor = touch ran; false\n");
    expect(await run("git status", CRON)).toContain("exit code 0");
    expect(await run("git status && git commit --allow-empty -m x", CRON)).toContain("Denied");
    expect(await run("git -C sub status", CRON)).toContain("exit code 0");
    writeFileSync(at("sub/.git/config"), "[core]\n\tfsmonitor = touch ran; false\n");
    expect(await run("git -C sub status", CRON)).toContain("Denied");
    expect(existsSync(at("ran")) || existsSync(at("sub/ran"))).toBe(false);
  });

  it("lets it read without a question, and change nothing that git obeys", async () => {
    const before = settings();
    expect(await run("git -c core.quotepath=off status")).toContain("exit code 0");
    expect(await run("git diff --no-index --output=.git/config /dev/null .git/HEAD")).not.toContain("exit code 0");
    expect(settings()).toEqual(before);
  });
});

it("lets git commit, and change its settings with a yes", needs("bwrap"), async () => {
  writeFileSync(at("a.txt"), "one\n");
  const as = "-c user.name=a -c user.email=a@example.org";
  expect(await run(`git ${as} add a.txt && git ${as} commit -qm one`)).toMatch(/exit code/);
  // A program other than git starts git: it commits, and does not change settings.
  await run(`sh -c 'echo two > a.txt; git ${as} commit -qam two; git ${as} config core.fsmonitor x'`);
  expect(git("log", "--oneline").trim().split("\n")).toHaveLength(2);
  expect(settings().join()).not.toContain("fsmonitor");
  expect(await run(`git ${as} remote add origin https://example.org/x`)).toContain("kept as changes");
  expect(settings()[0]).toContain("example.org");
});

describe("a change of a repository with a yes", needs("bwrap"), () => {
  const changed = async () =>
    (await node.changes.list({ limit: 100, kind: "repository" })).filter(({ by }) => by.surface === "run");

  it.each<[string, string, readonly string[]]>([
    ["git config", "git config core.fsmonitor x", [".git/config"]],
    ["git remote add", "git -C sub remote add origin https://example.org/x", ["sub/.git/config"]],
    ["an own repository", "git init -q --bare made", ["made/config"]],
    [
      "a worktree",
      "git -c user.name=a -c user.email=a commit -q --allow-empty -m x && git worktree add -q tree",
      ["tree/.git", ".git/worktrees/tree/commondir"],
    ],
    [
      "a hook of a template",
      "git init -q --template=template made",
      ["made/.git/hooks/pre-commit", "made/.git/config"],
    ],
    ["a repository that is removed", "rm -rf sub", ["sub/.git/config"]],
  ])("keeps %s with its difference, and undoes it", async (_what, line, files) => {
    mkdirSync(at("template/hooks"), { recursive: true });
    writeFileSync(at("template/hooks/pre-commit"), "#!/bin/sh\n");
    const before = new Map(files.map((file) => [file, textAt(file)]));
    const known = new Set((await changed()).map(({ id }) => id));
    expect(await run(line)).toContain("kept as changes");
    const made = (await changed()).filter(({ id }) => !known.has(id));
    expect(made.map(({ file }) => file).sort()).toEqual(files.map((file) => `workspace/code/${file}`).sort());
    for (const change of made) {
      const file = change.file.slice("workspace/code/".length);
      expect(change.by).toMatchObject({ person: OWNER, surface: "run", tool: "exec" });
      expect(change.why).toBe(line);
      expect(await node.changes.textsOf(change)).toEqual({ before: before.get(file), after: textAt(file) });
      await node.changes.undo(change.id, { person: OWNER, surface: "cli" });
      expect(textAt(file)).toBe(before.get(file));
    }
  });

  it("keeps no change of a line without one, and no example of a hook", async () => {
    const known = (await changed()).length;
    expect(await run("git init -q && git init -q sub")).not.toContain("kept");
    expect(await changed()).toHaveLength(known);
  });

  it("keeps it once of two lines that run at the same time", async () => {
    const known = (await changed()).length;
    const other = { ...OLGA, channelId: "other" };
    await Promise.all([run("git config a.b c"), run("git -c alias.w='!sleep 0.4' w", other)]);
    expect(await changed()).toHaveLength(known + 1);
  });

  it("keeps it at the next start after a crash", async () => {
    const writer = "0123456789abcdef";
    const known = (await changed()).length;
    await node.close();
    const changes = openFileChanges({ paths, roots: () => [paths.workspace], now: Date.now });
    const kept = { by: { person: OWNER, surface: "run" }, why: "git config" };
    await changes.guard.begin(writer, [], [paths.workspace], kept);
    const before = textAt(".git/config");
    git("config", "core.fsmonitor", "x");
    node = await open("exec");
    await expect.poll(async () => (await changed()).length).toBe(known + 1);
    const [made] = await changed();
    expect(made && (await node.changes.textsOf(made))).toEqual({ before, after: textAt(".git/config") });
  });

  it("sets aside settings that are too large to be kept", async () => {
    writeFileSync(at(".git/config"), `[core]\n\tbare = false\n${"#\n".repeat(520_000)}`);
    const before = settings();
    expect(await run(`git config a.b ${"x".repeat(30_000)}`)).toContain("set aside");
    expect(settings()).toEqual(before);
    expect(readdirSync(at(".git"))).toContain("config.proposed");
  });
});

function textAt(file: string): string | null {
  try {
    return readFileSync(at(file), "utf8");
  } catch {
    return null;
  }
}
