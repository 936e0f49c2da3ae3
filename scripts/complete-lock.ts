/**
 * Completes package-lock.json after `npm install`: `npm ci` requires an entry for every optional package of every platform,
 * and npm leaves out those it could not look up. An entry for another platform is never installed here.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Locked {
  version: string;
  dev?: boolean;
  optional?: boolean;
  cpu?: string[];
  os?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const CPUS = ["arm64", "x64", "arm", "ppc64", "s390x", "wasm32", "ia32", "riscv64", "loong64"];
const SYSTEMS = ["android", "darwin", "linux", "win32", "freebsd", "openharmony"];

/** The entry of a platform's package, read from its name: `@scope/binding-linux-x64-musl`. */
export function platformEntry(name: string, version: string, dev: boolean): Locked {
  const words = name.split(/[-/]/);
  const cpu = words.filter((word) => CPUS.includes(word));
  const os = words.filter((word) => SYSTEMS.includes(word));
  const libc = words.includes("musl") ? ["musl"] : os[0] === "linux" && words.includes("gnu") ? ["glibc"] : undefined;
  return {
    version,
    cpu: cpu.length > 0 ? cpu : ["wasm32"],
    dev: dev || undefined,
    libc,
    optional: true,
    os: os.length > 0 ? os : undefined,
  };
}

/** Adds an entry for every optional package that a lock file lacks. */
export function completePackages(packages: Readonly<Record<string, Locked>>): Record<string, Locked> {
  const all: Record<string, Locked> = { ...packages };
  for (const [place, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const key = `node_modules/${name}`;
      if (!(key in all) && !(`${place}/${key}` in all)) all[key] = platformEntry(name, version, entry.dev ?? false);
    }
  }
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

if (import.meta.main) {
  const path = new URL("../package-lock.json", import.meta.url);
  const lock = JSON.parse(readFileSync(path, "utf8")) as { packages: Record<string, Locked> };
  const before = Object.keys(lock.packages).length;
  lock.packages = completePackages(lock.packages);
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`package-lock.json: ${Object.keys(lock.packages).length - before} entries added`);
}
