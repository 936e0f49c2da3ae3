/** Commands that the owner's rules allow, and what they leave in repositories that git obeys. The sandbox and git are real. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openNode, type RookeryNode } from "../../src/app/node/open-node.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { homePaths } from "../../src/config/paths.ts";
import { OWNER } from "../../src/core/people/person.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model } from "../../src/core/ports/model.ts";
import { makeDiskDirectory } from "../kit/disk-directory.ts";
import { needs } from "../kit/needs.ts";

const paths = homePaths(makeDiskDirectory("rookery-planted-"));
const at = (...names: readonly string[]): string => join(paths.workspace, "code", ...names);
const about = { api: "a", provider: "p", model: "m" } as const;
const results: string[] = [];

/** Runs the line after `$` of the last message. */
const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const said = last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
    const command = /^\$ (.*)$/m.exec(said)?.[1];
    if (last?.role === "tool") results.push(said);
    if (last?.role === "tool" || command === undefined)
      return { ...about, content: [{ type: "text", text: "done" }], stopReason: "stop" };
    const call = { type: "toolCall" as const, id: "c", name: "exec", arguments: { command } };
    return { ...about, content: [call], stopReason: "tool_calls" };
  },
};

let node: RookeryNode;
beforeAll(async () => {
  node = await openNode({
    paths,
    config: configSchema.parse({
      owner: { accounts: ["test:olga"] },
      sandbox: { kind: "bwrap" },
      permissions: { allow: ["exec"] },
    }),
    env: process.env,
    connectors: [],
    model,
    log: silentLog,
    onFatal: (error) => expect.unreachable(String(error)),
  });
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

async function run(line: string, descriptor: typeof OLGA | typeof CRON = OLGA): Promise<string> {
  await node.agents.postAndAwait({
    to: { descriptor },
    body: { kind: "user", text: `$ cd code && ${line}` },
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

it.each(["git status", "git -C sub status"])(
  "starts no monitor for a rule that allows %s",
  needs("bwrap"),
  async (line) => {
    for (const file of [".git/config", "sub/.git/config"])
      writeFileSync(at(file), `[core]\n\tfsmonitor = touch ${at("ran")}; false\n`);
    expect(await run(line)).toContain("exit code 0");
    expect(existsSync(at("ran"))).toBe(false);
    git("status");
    expect(existsSync(at("ran")), "git runs the planted program").toBe(true);
  },
);

it("lets git commit, and change its settings with a yes", needs("bwrap"), async () => {
  writeFileSync(at("a.txt"), "one\n");
  const as = "-c user.name=a -c user.email=a@example.org";
  expect(await run(`git ${as} add a.txt && git ${as} commit -qm one`)).toMatch(/exit code/);
  // A program other than git starts git: it commits, and does not change settings.
  await run(`sh -c 'echo two > a.txt; git ${as} commit -qam two; git ${as} config core.fsmonitor x'`);
  expect(git("log", "--oneline").trim().split("\n")).toHaveLength(2);
  expect(settings().join()).not.toContain("fsmonitor");
  await run(`git ${as} remote add origin https://example.org/x`);
  expect(settings()[0]).toContain("example.org");
});
