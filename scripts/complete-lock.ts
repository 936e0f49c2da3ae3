/**
 * Completes package-lock.json after `npm install`. `npm ci` requires an entry for every optional package of every platform, and
 * npm leaves out those it could not look up; an entry for another platform is never installed here. `npm ci` also warns about
 * each package that does not support the Node it runs on. Packages run on the Node that the lock installs, so they are compared
 * with that one here, and the lock does not repeat what they need.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { satisfies } from "semver";

const ROOT = join(import.meta.dirname, "..");

interface Manifest {
  engines?: Record<string, string>;
}

interface Locked extends Manifest {
  version: string;
  dev?: boolean;
  optional?: boolean;
  cpu?: string[];
  os?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

type Packages = Readonly<Record<string, Locked>>;

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
export function completePackages(packages: Packages): Record<string, Locked> {
  const all: Record<string, Locked> = { ...packages };
  for (const [place, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const key = `node_modules/${name}`;
      if (!(key in all) && !(`${place}/${key}` in all)) all[key] = platformEntry(name, version, entry.dev ?? false);
    }
  }
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Removes `engines.node` from each package that supports the Node of this lock. If an entry has no engines, they are read from the
 * package installed below `root`. An optional package without support keeps them, so that npm does not install it. Throws if a
 * required package does not support that Node.
 */
export function checkEngines(packages: Packages, root: string): Record<string, Locked> {
  const node = packages["node_modules/node"]?.version;
  if (node === undefined) throw new Error('The lock file does not install Node. Run "npm install --save-dev node@24".');
  const unsupported: string[] = [];
  const checked = Object.entries(packages).map(([place, entry]): [string, Locked] => {
    const range = entry.engines?.node ?? installedManifest(root, place)?.engines?.node;
    if (range !== undefined && !satisfies(node, range, { includePrerelease: true })) {
      if (!entry.optional) unsupported.push(`${place} ${entry.version} needs Node ${range}`);
      return [place, entry];
    }
    const { node: _, ...others } = entry.engines ?? {};
    return [place, { ...entry, engines: Object.keys(others).length > 0 ? others : undefined }];
  });
  if (unsupported.length > 0) {
    throw new Error(
      `Not supported on Node ${node}, which the lock file installs: ${unsupported.join("; ")}. Install another version of these packages or of "node".`,
    );
  }
  return Object.fromEntries(checked);
}

function installedManifest(root: string, place: string): Manifest | undefined {
  const file = join(root, place, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : undefined;
}

/** The packages of a lock file with both changes. */
export function completeLock(packages: Packages, root = ROOT): Record<string, Locked> {
  return completePackages(checkEngines(packages, root));
}

if (import.meta.main) {
  const path = join(ROOT, "package-lock.json");
  const text = readFileSync(path, "utf8");
  const lock = JSON.parse(text) as { packages: Packages };
  const completed = `${JSON.stringify({ ...lock, packages: completeLock(lock.packages) }, null, 2)}\n`;
  writeFileSync(path, completed);
  console.log(completed === text ? "package-lock.json was complete" : "package-lock.json is now complete");
}
