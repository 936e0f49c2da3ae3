/** Repositories in which a reading git command runs a program, for the tests of planted programs. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Runs git on the host as the owner would. Errors are ignored. */
export function hostGit(home: string, cwd: string, ...args: readonly string[]): string {
  const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
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
export function makeRepository(git: Git, directory: string, attributes = ""): void {
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

type Git = (cwd: string, ...args: readonly string[]) => string;

/** Leaves a mark beside itself that it ran. It is a program for git as well as for a shell. */
export function writeProgram(path: string): void {
  writeFileSync(path, '#!/bin/sh\ntouch "$(dirname "$0")/ran"\n');
  chmodSync(path, 0o755);
}

export interface Plant {
  readonly what: string;
  readonly attributes?: string;
  plant(directory: string, parts: { readonly git: Git; readonly program: string }): void;
  /** The lines that the model runs. */
  readonly lines: readonly string[];
  /** Below the repository. */
  readonly cwd?: string;
  /** The engine has no setting against it, so the lines ask even if a rule allows them. */
  readonly asks?: true;
}

export const PLANTS: readonly Plant[] = [
  {
    what: "core.fsmonitor",
    plant: (at, { program }) => config(at, `[core]\n\tfsmonitor = ${program}\n`),
    lines: ["git status", "git diff", "git ls-files -m"],
  },
  {
    what: "diff.external",
    asks: true,
    plant: (at, { program }) => config(at, `[diff]\n\texternal = ${program}\n`),
    lines: ["git diff"],
  },
  {
    what: "diff.*.textconv",
    attributes: "*.txt diff=x\n",
    plant: (at, { program }) => config(at, `[diff "x"]\n\ttextconv = ${program}\n`),
    lines: ["git diff", "git log -p", "git show", "git blame a.txt"],
  },
  {
    what: "filter.*.clean",
    attributes: "*.txt filter=x\n",
    plant: (at, { program }) => config(at, `[filter "x"]\n\tclean = ${program}\n`),
    lines: ["git status", "git diff"],
  },
  {
    what: "core.hooksPath",
    plant(at, { program }) {
      mkdirSync(join(at, "hooks"));
      writeFileSync(join(at, "hooks", "post-index-change"), `#!/bin/sh\nexec ${program}\n`);
      chmodSync(join(at, "hooks", "post-index-change"), 0o755);
      config(at, "[core]\n\thooksPath = hooks\n");
      writeFileSync(join(at, "a.txt"), "two\n");
    },
    lines: ["git describe --always --dirty", "git status", "git diff"],
  },
  {
    what: "an include",
    asks: true,
    plant(at, { program }) {
      writeFileSync(join(at, "more"), `[core]\n\tfsmonitor = ${program}\n`);
      config(at, "[include]\n\tpath = ../more\n");
    },
    lines: ["git status"],
  },
  {
    what: "gpg.program",
    plant(at, { git, program }) {
      const commit = git(at, "cat-file", "commit", "HEAD");
      const signed = commit.replace(
        /^(committer .*)$/mu,
        "$1\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----",
      );
      writeFileSync(join(at, "signed"), signed);
      git(at, "update-ref", "HEAD", git(at, "hash-object", "-t", "commit", "-w", "signed").trim());
      config(at, `[gpg]\n\tprogram = ${program}\n[log]\n\tshowSignature = true\n`);
    },
    lines: ["git log", "git show", "git log --format=%GG"],
  },
  {
    what: "core.sshCommand, for an object that is missing",
    asks: true,
    plant(at, { git, program }) {
      const id = git(at, "rev-parse", "HEAD:a.txt").trim();
      rmSync(join(at, ".git", "objects", id.slice(0, 2), id.slice(2)), { force: true });
      config(
        at,
        [
          `[core]\n\trepositoryformatversion = 1\n\tsshCommand = ${program}\n[extensions]\n\tpartialClone = origin`,
          '[remote "origin"]\n\turl = ssh://example.org/x\n\tpromisor = true\n',
        ].join("\n"),
      );
    },
    lines: ["git show HEAD:a.txt"],
  },
  {
    what: "the configuration of a submodule",
    asks: true,
    plant(at, { git, program }) {
      makeRepository(git, join(at, "sub"));
      git(at, "add", "sub");
      config(join(at, "sub"), `[core]\n\tfsmonitor = ${program}\n`);
    },
    lines: ["git status"],
  },
  {
    what: "a bare repository in another one",
    asks: true,
    plant(at, { git, program }) {
      git(at, "clone", "-q", "--bare", ".", "store");
      writeFileSync(join(at, "store", "config"), `[core]\n\tbare = true\n[diff "x"]\n\ttextconv = ${program}\n`);
      writeFileSync(join(at, "store", "info", "attributes"), "* diff=x\n");
    },
    lines: ["git show", "git log -p"],
    cwd: "store",
  },
  {
    what: "a .git file",
    asks: true,
    plant(at, { git, program }) {
      mkdirSync(join(at, "other"));
      git(at, "clone", "-q", "--bare", ".", "store");
      writeFileSync(join(at, "store", "config"), `[core]\n\tworktree = ../other\n\tfsmonitor = ${program}\n`);
      writeFileSync(join(at, "other", ".git"), "gitdir: ../store\n");
    },
    lines: ["git status"],
    cwd: "other",
  },
  {
    what: "diff.*.command",
    asks: true,
    attributes: "*.txt diff=x\n",
    plant: (at, { program }) => config(at, `[diff "x"]\n\tcommand = ${program}\n`),
    lines: ["git diff"],
  },
  {
    what: "a filter of .git/info/attributes that git needs",
    plant(at, { program }) {
      writeFileSync(join(at, ".git", "info", "attributes"), "*.txt filter=x\n");
      config(at, `[filter "x"]\n\tprocess = ${program}\n\trequired = true\n`);
    },
    lines: ["git status", "git diff"],
  },
  {
    what: "a filter of core.attributesFile",
    plant(at, { program }) {
      writeFileSync(join(at, "list"), "*.txt filter=x\n");
      config(at, `[core]\n\tattributesFile = ${join(at, "list")}\n[filter "x"]\n\tclean = ${program}\n`);
    },
    lines: ["git status"],
  },
  {
    what: "a driver that merges",
    asks: true,
    attributes: "*.txt merge=x\n",
    plant(at, { git, program }) {
      git(at, "checkout", "-qf", "-b", "side", "HEAD~1");
      writeFileSync(join(at, "a.txt"), "side\n");
      git(at, ...AS, "commit", "-qam", "side");
      git(at, ...AS, "merge", "-q", "-X", "ours", "-m", "both", "@{-1}");
      config(at, `[merge "x"]\n\tdriver = ${program}\n`);
    },
    lines: ["git show --remerge-diff", "git log --remerge-diff"],
  },
  {
    what: "a program in the settings of a worktree",
    asks: true,
    plant(at, { git, program }) {
      git(at, "config", "extensions.worktreeConfig", "true");
      git(at, "worktree", "add", "-q", "tree");
      writeFileSync(join(at, ".git", "worktrees", "tree", "config.worktree"), `[core]\n\tfsmonitor = ${program}\n`);
    },
    lines: ["git status"],
    cwd: "tree",
  },
  {
    what: "a transport of protocol.ext",
    asks: true,
    plant(at, { git, program }) {
      const id = git(at, "rev-parse", "HEAD:a.txt").trim();
      rmSync(join(at, ".git", "objects", id.slice(0, 2), id.slice(2)), { force: true });
      config(
        at,
        [
          "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[protocol]\n\tallow = always",
          `[remote "origin"]\n\turl = ext::${program}\n\tpromisor = true\n`,
        ].join("\n"),
      );
    },
    lines: ["git show HEAD:a.txt"],
  },
  {
    what: "git grep -O",
    asks: true,
    plant: () => {},
    lines: [
      "git grep -O../program.sh six",
      "git grep --open-files-in-pager=../program.sh -e six",
      "git grep -nO../program.sh six",
    ],
  },
  {
    what: "a setting in the command",
    asks: true,
    plant: () => {},
    lines: ["git -c core.fsmonitor=../program.sh status", "git -c diff.external=../program.sh diff"],
  },
  {
    what: "another directory of settings",
    asks: true,
    plant(at, { git, program }) {
      git(at, "clone", "-q", "--bare", ".", "store");
      writeFileSync(join(at, "store", "config"), `[core]\n\tbare = false\n\tfsmonitor = ${program}\n`);
    },
    lines: ["git --git-dir=store --work-tree=. status", "git --git-dir store --work-tree . status"],
  },
  {
    what: "a variable",
    asks: true,
    plant: () => {},
    lines: ["GIT_EXTERNAL_DIFF=../program.sh git diff"],
  },
];

/** Runs a line as a person would type it. */
export function typeLine(git: Git, cwd: string, line: string): void {
  const [first = "", ...rest] = line.split(" ");
  const external = /^GIT_EXTERNAL_DIFF=(.*)$/u.exec(first)?.[1];
  if (external === undefined) git(cwd, ...rest);
  else git(cwd, "-c", `diff.external=${external}`, ...rest.slice(1));
}
