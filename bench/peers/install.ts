/** Installs pinned packages from the registry into a directory that the next comparison uses again, and measures what came. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Installed {
  readonly directory: string;
  readonly mb: number;
  readonly packages: number;
  readonly files: number;
}

/** Where packages of these versions are kept. */
export function cacheDirectory(packages: readonly string[]): string {
  const key = createHash("sha256").update(packages.join(" ")).digest("hex").slice(0, 12);
  return join(tmpdir(), "rookery-peers", key);
}

/** `packages`: names with exact versions, or a file. No script of theirs runs. */
export function installPackages(packages: readonly string[], directory: string): Installed {
  const complete = join(directory, "complete");
  if (!existsSync(complete)) {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "package.json"), '{ "private": true, "type": "module" }\n');
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", ...packages], {
      cwd: directory,
      stdio: ["ignore", "inherit", "inherit"],
      // Some packages refuse to be installed by an older Node than this one.
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    });
    writeFileSync(complete, "");
  }
  const lock = JSON.parse(readFileSync(join(directory, "node_modules/.package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, unknown>>;
  };
  return { directory, packages: Object.keys(lock.packages).length, ...contentOf(join(directory, "node_modules")) };
}

function contentOf(directory: string): { readonly mb: number; readonly files: number } {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return { mb: bytes / 1024 / 1024, files: files.length };
}
