/**
 * `npm run tool -- tarball`: builds the package and packs it into a file. Its manifest says which Node it needs; the repository's does not,
 * since the repository installs that Node itself and any other can run `npm ci`.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MIN_NODE } from "../src/core/node-version.ts";

const ROOT = join(import.meta.dirname, "..");

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
}

interface PackedFile {
  readonly filename: string;
  readonly size: number;
  readonly entryCount: number;
}

/** The manifest of the package: without what only the repository needs, and with the Node it runs on. */
export function packageManifest(version?: string) {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest & Record<string, unknown>;
  const { private: _, scripts, devDependencies, allowScripts, ...published } = manifest;
  return { ...published, version: version ?? manifest.version, engines: { node: `>=${MIN_NODE}` } };
}

/** Builds the package and packs it into a file in `directory`. */
export function packPackage(directory: string, version?: string): PackedFile {
  execFileSync("npm", ["run", "build"], { cwd: ROOT, stdio: ["ignore", 2, "inherit"] });
  const content = mkdtempSync(join(tmpdir(), "rookery-pack-"));
  try {
    const manifest = packageManifest(version);
    for (const path of [...manifest.files, "README.md", "LICENSE"]) {
      cpSync(join(ROOT, path), join(content, path), { recursive: true });
    }
    writeFileSync(join(content, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    const args = ["pack", "--json", "--silent", "--pack-destination", directory];
    const [packed] = JSON.parse(execFileSync("npm", args, { cwd: content, encoding: "utf8" })) as PackedFile[];
    if (packed === undefined) throw new Error('"npm pack" wrote no file.');
    return packed;
  } finally {
    rmSync(content, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { filename, size, entryCount } = packPackage(ROOT);
  console.log(`${filename}: ${(size / 1024).toFixed(0)} KB, ${entryCount} files`);
}
