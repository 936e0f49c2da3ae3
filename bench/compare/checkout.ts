/** Clean checkouts of two commits in a temporary directory, with the dependencies of this checkout if they are the same. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export interface Checkout {
  /** The commit's full name. */
  readonly commit: string;
  readonly path: string;
}

/** Calls `use` with a checkout of each revision, and removes them afterwards. Fails if a revision does not exist. */
export async function withCheckouts<Result>(
  revisions: readonly string[],
  use: (checkouts: readonly Checkout[]) => Promise<Result>,
): Promise<Result> {
  const commits = revisions.map(commitOf);
  const dir = mkdtempSync(join(realpathSync(tmpdir()), "rookery-checkouts-"));
  const made: Checkout[] = [];
  const remove = (): void => {
    for (const { path } of made.splice(0)) git("worktree", "remove", "--force", path);
    rmSync(dir, { recursive: true, force: true });
  };
  // A comparison takes minutes: an interrupted one must clean up too.
  const interrupted = (): void => {
    remove();
    process.exit(130);
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    for (const [n, commit] of commits.entries()) {
      const path = join(dir, String(n));
      made.push({ commit, path });
      git("worktree", "add", "--detach", "--quiet", path, commit);
      provideDependencies(path);
    }
    return await use(made);
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    remove();
  }
}

/** The full name of a commit. */
export function commitOf(revision: string): string {
  try {
    return git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`).trim();
  } catch {
    throw new Error(`There is no commit "${revision}" in this repository.`);
  }
}

function provideDependencies(path: string): void {
  const lock = (root: string): string => readFileSync(join(root, "package-lock.json"), "utf8");
  if (lock(path) === lock(ROOT)) symlinkSync(realpathSync(join(ROOT, "node_modules")), join(path, "node_modules"));
  else execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: path, stdio: ["ignore", "ignore", "inherit"] });
}

const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-C", ROOT, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
