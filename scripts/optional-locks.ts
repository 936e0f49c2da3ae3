/**
 * `npm run tool -- optional-locks`: writes the lock file of each optional package, which pins it and everything it needs by version and
 * integrity. Needs a network. Run it after a version in `optional-package.ts` has changed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockFileOf, manifestOf, OPTIONAL_PACKAGES } from "../src/adapters/connectors/packages/optional-package.ts";

/** What `npm ci` needs of an entry. Where it was downloaded from is the business of the machine that installs it. */
const KEPT = [
  "version",
  "integrity",
  "optional",
  "peer",
  "os",
  "cpu",
  "libc",
  "dependencies",
  "optionalDependencies",
  "peerDependencies",
  "peerDependenciesMeta",
  "engines",
];

for (const one of Object.values(OPTIONAL_PACKAGES)) {
  const directory = mkdtempSync(join(tmpdir(), "rookery-lock-"));
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifestOf(one)));
  const args = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status } = spawnSync("npm", args, { cwd: directory, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  const lock = JSON.parse(readFileSync(join(directory, "package-lock.json"), "utf8")) as {
    packages: Record<string, Record<string, unknown>>;
  };
  rmSync(directory, { recursive: true, force: true });
  const lines = Object.entries(lock.packages)
    .filter(([place]) => place !== "")
    .map(([place, entry]) => {
      const kept = KEPT.filter((key) => entry[key] !== undefined).map((key) => [key, entry[key]]);
      return `  ${JSON.stringify(place)}: ${JSON.stringify(Object.fromEntries(kept))}`;
    });
  writeFileSync(lockFileOf(one), `{\n${lines.join(",\n")}\n}\n`);
  console.log(`${one.name} ${one.version}: ${lines.length} packages`);
}
