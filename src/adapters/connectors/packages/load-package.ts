/**
 * Finds and loads an optional package: in the home, in the directory of an image, or where the program that uses Rookery has it. Only the
 * pinned version is loaded. One that was installed in part, by a process that was killed, counts as missing.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../../../core/errors.ts";
import { type Locked, lockOf, type OptionalPackage } from "./optional-package.ts";

/** The directory of a package in a home. */
export const packageDirectory = (home: string, { name }: Pick<OptionalPackage, "name">): string =>
  join(home, "packages", name);

/** The variable that names a directory with packages, as an image has it. */
const PACKAGES_VARIABLE = "ROOKERY_PACKAGES";

type Env = Readonly<Record<string, string | undefined>>;

/** The directory that has the whole package in its version; undefined if none has. */
export function findPackage(
  one: OptionalPackage,
  { home, env }: { readonly home: string; readonly env: Env },
): string | undefined {
  const shared = env[PACKAGES_VARIABLE];
  const places = [packageDirectory(home, one), ...(shared ? [join(shared, one.name)] : [])];
  return places.find((place) => existsSync(place) && isWhole(place, lockOf(one)));
}

/** Those that neither the home nor an image nor the program itself has. */
export const missingPackages = (
  needed: readonly OptionalPackage[],
  deps: Parameters<typeof findPackage>[1],
): readonly OptionalPackage[] =>
  needed.filter((one) => findPackage(one, deps) === undefined && ownVersion(one) !== one.version);

/** The file that npm writes when everything is in its place: until then a package may have its manifest and not the rest. */
const DONE = join("node_modules", ".package-lock.json");

const isWhole = (directory: string, locked: Locked): boolean =>
  existsSync(join(directory, DONE)) &&
  Object.entries(locked).every(([place, { version, optional }]) => {
    const found = versionAt(join(directory, place));
    return found === version || (optional === true && found === undefined);
  });

function versionAt(directory: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { version?: string }).version;
  } catch {
    return undefined;
  }
}

/** Rejects with a `ConfigError` that says how to install it. */
export async function loadPackage(
  one: OptionalPackage,
  deps: Parameters<typeof findPackage>[1],
): Promise<Readonly<Record<string, unknown>>> {
  const directory = findPackage(one, deps);
  if (directory !== undefined) {
    const entry = createRequire(join(directory, "package.json")).resolve(one.name);
    return import(pathToFileURL(entry).href);
  }
  const own = ownVersion(one);
  if (own === one.version) return import(one.name);
  throw new ConfigError(`${one.use} needs the package ${one.name} ${one.version}, which is not installed.`, {
    hint: "Run `rookery doctor --fix` to install it.",
  });
}

/** The version that the program itself depends on. */
function ownVersion({ name }: Pick<OptionalPackage, "name">): string | undefined {
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return paths.map((path) => versionAt(join(path, name))).find((version) => version !== undefined);
}
