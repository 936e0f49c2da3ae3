/**
 * Files that make a reading command run a program: planted on the disk, then the model of a real node asks for the command. The real git
 * proves that each plant works.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../kit/needs.ts";
import { type HostileWorld, OWNER_AT, openHostileWorld } from "./hostile.test-kit.ts";

let world: HostileWorld;
beforeAll(async () => {
  world = await openHostileWorld();
});
afterAll(() => world.close());

const inWorkspace = (...names: readonly string[]): string => join(world.paths.workspace, ...names);
const sentinel = (): string => inWorkspace("ran");
/** Leaves a mark that it ran. */
const PROGRAM = 'touch "$(dirname "$0")/ran"';
const program = (): string => inWorkspace("program.sh");

/** The model makes these calls in one answer of the owner's conversation, which then starts afresh. */
async function attempt(...calls: readonly (readonly [name: string, given: object])[]): Promise<void> {
  await world.say(OWNER_AT, calls.map(([name, given]) => `LOOK ${JSON.stringify({ name, with: given })}`).join("\n"));
  await world.node.agents.post({ to: { agentId: world.main.id }, body: { kind: "reset", by: "person" } });
  await world.node.agents.settled();
}

/** Runs git on the host as the owner would. Errors are ignored. */
function git(cwd: string, ...args: readonly string[]): string {
  const env = { PATH: process.env.PATH, HOME: dirname(world.paths.home), GIT_CONFIG_NOSYSTEM: "1" };
  try {
    return execFileSync("git", args, {
      cwd,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 20_000,
    });
  } catch {
    return "";
  }
}

const AS = ["-c", "user.name=a", "-c", "user.email=a@example.org"];

/** A repository with two commits and a changed file. */
function repository(directory: string, attributes = ""): void {
  mkdirSync(directory, { recursive: true });
  git(directory, "init", "-q");
  for (const text of ["one\n", "two\n"]) {
    writeFileSync(join(directory, "a.txt"), text);
    writeFileSync(join(directory, ".gitattributes"), attributes);
    git(directory, "add", "-A");
    git(directory, ...AS, "commit", "-qm", text);
  }
  // As long as before, so that git must compare the contents.
  writeFileSync(join(directory, "a.txt"), "six\n");
}

const config = (directory: string, lines: string): void =>
  writeFileSync(join(directory, ".git", "config"), `[core]\n\trepositoryformatversion = 0\n${lines}`);

interface Plant {
  readonly what: string;
  readonly attributes?: string;
  plant(directory: string): void;
  /** The lines that the model runs. */
  readonly lines: readonly string[];
  /** Below the repository. */
  readonly cwd?: string;
}

const PLANTS: readonly Plant[] = [
  {
    what: "core.fsmonitor",
    plant: (at) => config(at, `[core]\n\tfsmonitor = ${program()}\n`),
    lines: ["git status", "git diff", "git ls-files -m"],
  },
  {
    what: "diff.external",
    plant: (at) => config(at, `[diff]\n\texternal = ${program()}\n`),
    lines: ["git diff"],
  },
  {
    what: "diff.*.textconv",
    attributes: "*.txt diff=x\n",
    plant: (at) => config(at, `[diff "x"]\n\ttextconv = ${program()}\n`),
    lines: ["git diff", "git log -p", "git show", "git blame a.txt"],
  },
  {
    what: "filter.*.clean",
    attributes: "*.txt filter=x\n",
    plant: (at) => config(at, `[filter "x"]\n\tclean = ${program()}\n`),
    lines: ["git status", "git diff"],
  },
  {
    what: "core.hooksPath",
    plant(at) {
      mkdirSync(join(at, "hooks"));
      writeFileSync(join(at, "hooks", "post-index-change"), `#!/bin/sh\nexec ${program()}\n`);
      chmodSync(join(at, "hooks", "post-index-change"), 0o755);
      config(at, "[core]\n\thooksPath = hooks\n");
      writeFileSync(join(at, "a.txt"), "two\n");
    },
    lines: ["git status"],
  },
  {
    what: "an include",
    plant(at) {
      writeFileSync(join(at, "more"), `[core]\n\tfsmonitor = ${program()}\n`);
      config(at, "[include]\n\tpath = ../more\n");
    },
    lines: ["git status"],
  },
  {
    what: "gpg.program",
    plant(at) {
      const commit = git(at, "cat-file", "commit", "HEAD");
      const signed = commit.replace(
        /^(committer .*)$/mu,
        "$1\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----",
      );
      writeFileSync(join(at, "signed"), signed);
      git(at, "update-ref", "HEAD", git(at, "hash-object", "-t", "commit", "-w", "signed").trim());
      config(at, `[gpg]\n\tprogram = ${program()}\n[log]\n\tshowSignature = true\n`);
    },
    lines: ["git log", "git show"],
  },
  {
    what: "core.sshCommand, for an object that is missing",
    plant(at) {
      const id = git(at, "rev-parse", "HEAD:a.txt").trim();
      rmSync(join(at, ".git", "objects", id.slice(0, 2), id.slice(2)), { force: true });
      config(
        at,
        [
          `[core]\n\trepositoryformatversion = 1\n\tsshCommand = ${program()}\n[extensions]\n\tpartialClone = origin`,
          '[remote "origin"]\n\turl = ssh://example.org/x\n\tpromisor = true\n',
        ].join("\n"),
      );
    },
    lines: ["git show HEAD:a.txt"],
  },
  {
    what: "the configuration of a submodule",
    plant(at) {
      repository(join(at, "sub"));
      git(at, "add", "sub");
      config(join(at, "sub"), `[core]\n\tfsmonitor = ${program()}\n`);
    },
    lines: ["git status"],
  },
  {
    what: "a bare repository",
    plant(at) {
      git(at, "clone", "-q", "--bare", ".", "store");
      writeFileSync(join(at, "store", "config"), `[core]\n\tbare = true\n[diff "x"]\n\ttextconv = ${program()}\n`);
      writeFileSync(join(at, "store", "info", "attributes"), "* diff=x\n");
    },
    lines: ["git show", "git log -p"],
    cwd: "store",
  },
  {
    what: "a .git file",
    plant(at) {
      mkdirSync(join(at, "other"));
      git(at, "clone", "-q", "--bare", ".", "store");
      writeFileSync(join(at, "store", "config"), `[core]\n\tworktree = ../other\n\tfsmonitor = ${program()}\n`);
      writeFileSync(join(at, "other", ".git"), "gitdir: ../store\n");
    },
    lines: ["git status"],
    cwd: "other",
  },
];

describe("a reading command in a repository with planted settings", needs("bwrap"), () => {
  beforeAll(() => {
    writeFileSync(program(), `#!/bin/sh\n${PROGRAM}\n`);
    chmodSync(program(), 0o755);
  });

  it.each(PLANTS.map((one, at) => [one.what, at, one] as const))("runs no program of %s", async (_what, at, one) => {
    const name = `plant-${at}`;
    repository(inWorkspace(name), one.attributes);
    one.plant(inWorkspace(name));
    rmSync(sentinel(), { force: true });
    const cwd = join(name, one.cwd ?? "");
    for (const line of one.lines) {
      await attempt(["exec", { command: line, cwd }], ["exec", { command: line.split(" "), cwd }]);
      expect(existsSync(sentinel()), line).toBe(false);
    }
    // The plant works: this is what the question prevents.
    const [, ...args] = (one.lines[0] ?? "").split(" ");
    git(inWorkspace(cwd), ...args);
    expect(existsSync(sentinel()), "git runs the planted program").toBe(true);
  });

  it.each([
    ["a substitution in the name of a variable", `test -v 'a[$(touch ran)]'`],
    ["rg --pre", "rg --pre ./program.sh one tools"],
    ["sort --compress-program", "sort -S1b --compress-program=./program.sh tools/big"],
    ["find -fprintf", "find tools -maxdepth 0 -fprintf ran x"],
  ])("executes and writes nothing by %s", async (_what, command) => {
    mkdirSync(inWorkspace("tools"), { recursive: true });
    writeFileSync(inWorkspace("tools", "big"), "one\n".repeat(10_000));
    rmSync(sentinel(), { force: true });
    await attempt(["exec", { command }]);
    expect(existsSync(sentinel())).toBe(false);
  });
});

describe("a tool that writes what git obeys", needs("bwrap"), () => {
  const FSMONITOR = "[core]\n\tfsmonitor = touch ../ran; false\n\tworktree = ..\n";
  const patch = (path: string): object => ({
    patch: `*** Begin Patch\n*** Add File: ${path}\n+[core]\n+fsmonitor = x\n*** End Patch\n`,
  });
  /** The files of a bare repository, in one answer. */
  const bare = (at: string): readonly (readonly [string, object])[] => [
    ["write", { path: `${at}/config`, content: FSMONITOR }],
    ["write", { path: `${at}/objects/x`, content: "x" }],
    ["write", { path: `${at}/refs/x`, content: "x" }],
    ["write", { path: `${at}/HEAD`, content: "ref: refs/heads/main\n" }],
  ];

  it.each<[string, (at: string) => readonly (readonly [string, object])[], string]>([
    ["write", (at) => [["write", { path: `${at}/.git/config`, content: FSMONITOR }]], ""],
    ["write, in other letters", (at) => [["write", { path: `${at}/.GIT/config`, content: FSMONITOR }]], ""],
    [
      "write, through a directory that is not there",
      (at) => [["write", { path: `${at}/x/../.git/config`, content: FSMONITOR }]],
      "",
    ],
    [
      "write, deeper",
      (at) => [["write", { path: `${at}/sub/deep/.git`, content: "gitdir: ../../store\n" }]],
      "sub/deep",
    ],
    ["write, with an own repository", (at) => bare(`${at}/made`), "made"],
    ["write, in a bare repository", (at) => [["write", { path: `${at}/store/config`, content: FSMONITOR }]], "store"],
    [
      "edit",
      (at) => [["edit", { path: `${at}/store/config`, oldText: "bare = true", newText: "fsmonitor = x" }]],
      "store",
    ],
    ["apply_patch", (at) => [["apply_patch", patch(`${at}/.git/hooks/pre-commit`)]], ""],
    ["a redirect", (at) => [["exec", { command: `echo x > ${at}/.git/config` }]], ""],
    ["a redirect from another directory", (at) => [["exec", { command: "echo x >> store/config", cwd: at }]], "store"],
  ])("changes nothing without a yes: %s", async (what, calls, cwd) => {
    const name = `guarded-${what.replaceAll(/\W+/gu, "-")}`;
    repository(inWorkspace(name));
    git(inWorkspace(name), "clone", "-q", "--bare", ".", "store");
    const files = [".git/config", "store/config"].map((file) => inWorkspace(name, file));
    const before = files.map((file) => readFileSync(file, "utf8"));
    rmSync(sentinel(), { force: true });
    await attempt(...calls(name));
    expect(files.map((file) => readFileSync(file, "utf8"))).toEqual(before);
    for (const made of ["sub/deep/.git", "made/HEAD", ".git/hooks/pre-commit", ".GIT"]) {
      expect(existsSync(inWorkspace(name, made)), made).toBe(false);
    }
    if (existsSync(inWorkspace(name, cwd))) git(inWorkspace(name, cwd), "status");
    expect(existsSync(sentinel())).toBe(false);
  });
});
