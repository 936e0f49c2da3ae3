/**
 * `npm run release -- --dry-run [--version X]`: prepares a release. It checks the changelog, makes a home with the schema of
 * this version as a fixture for later ones, and packs the tarball, all in a temporary directory. Without `--dry-run` it also
 * writes the version, the changelog and the fixture; a person commits, tags and publishes them.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCommandLine } from "../test/kit/command-line.ts";
import { packPackage } from "./pack-package.ts";

const ROOT = join(import.meta.dirname, "..");
export const FIXTURES = join(ROOT, "test", "fixtures", "homes");

/** The next patch version. */
export function nextVersion(version: string): string {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  return `${major}.${minor}.${patch + 1}`;
}

/** The changelog with its unreleased part under a version; unchanged if the version has a part. Throws if nothing is unreleased. */
export function releasedChangelog(text: string, version: string, day: string): string {
  if (text.split("\n").some((line) => line === `## ${version}` || line.startsWith(`## ${version} `))) return text;
  const [before, rest] = text.split("## Unreleased\n");
  const unreleased = rest?.split(/^## /m)[0]?.trim() ?? "";
  if (before === undefined || rest === undefined || unreleased === "") {
    throw new Error('CHANGELOG.md has nothing under "## Unreleased".');
  }
  return `${before}## Unreleased\n\n## ${version} (${day})\n${rest}`;
}

/** A backup of a home that this version made: a conversation with a file, a schedule and an agent. */
export function makeFixture(file: string): void {
  const home = mkdtempSync(join(tmpdir(), "rookery-release-"));
  try {
    writeFileSync(join(home, "rookery.json5"), '{ models: { default: "offline" } }\n', { mode: 0o600 });
    const run = (...argv: readonly string[]): string =>
      execFileSync(process.execPath, [join(ROOT, "src", "main.ts"), ...argv, "--home", home], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
    run("send", "write buy milk to notes.txt");
    run("schedules", "add", "--name", "tea", "--every", "30m", "--message", "time for tea");
    run("agents", "add", "librarian", "--description", "knows books", "--prompt", "You know books.");
    run("people", "add", "ann", "--name", "Ann", "--account", "telegram:42");
    run("backup", file);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function release({ dryRun, version: wanted }: { dryRun: boolean; version?: string }): void {
  const packageFile = join(ROOT, "package.json");
  const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
  const next = wanted ?? nextVersion(version);
  if (!/^\d+\.\d+\.\d+$/.test(next)) throw new Error(`"${next}" is not a version such as 1.2.3.`);
  const changelogFile = join(ROOT, "CHANGELOG.md");
  const changelog = releasedChangelog(readFileSync(changelogFile, "utf8"), next, new Date().toISOString().slice(0, 10));
  const dir = mkdtempSync(join(tmpdir(), "rookery-release-"));
  try {
    console.log(`version    ${version} → ${next}`);
    console.log(`changelog  ${changelog.split(`## ${next}`)[1]?.split(/^## /m)[0]?.trim().split("\n").length} lines`);
    const fixture = join(dir, `${next}.tar.gz`);
    makeFixture(fixture);
    console.log(`fixture    ${fixture.split("/").at(-1)}, ${statSync(fixture).size} bytes`);
    const packed = packPackage(dir, next);
    console.log(`tarball    ${packed.filename}, ${packed.size} bytes, ${packed.entryCount} files`);
    if (dryRun) {
      console.log("Nothing was changed.");
      return;
    }
    mkdirSync(FIXTURES, { recursive: true });
    copyFileSync(fixture, join(FIXTURES, `${next}.tar.gz`));
    writeFileSync(changelogFile, changelog);
    writeFileSync(
      packageFile,
      readFileSync(packageFile, "utf8").replace(`"version": "${version}"`, `"version": "${next}"`),
    );
    console.log(
      `Wrote package.json, CHANGELOG.md and the fixture. Commit them, tag v${next}, and publish the file that "npm run tool -- tarball" writes.`,
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = readCommandLine({
    name: "release",
    about: "Checks the changelog, makes a fixture for later versions and packs the tarball.",
    options: {
      "dry-run": { kind: "flag", about: "Changes nothing here." },
      version: { kind: "text", shown: "X.Y.Z", about: "The next patch version if left out." },
    },
  });
  release({ dryRun: values["dry-run"], version: values.version });
}
