/**
 * Packages that only some channels need. They are not installed with Rookery: a person who connects such a channel says yes once, and the
 * package is installed into the home, pinned with everything it needs by version and integrity. Its scripts are never run.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface OptionalPackage {
  readonly name: string;
  readonly version: string;
  /** What it is needed for. */
  readonly use: string;
  /** About what it takes on the disk. */
  readonly megabytes: number;
  /** Absent: the lock file beside this one that is called like the package. */
  readonly locked?: Locked;
}

export const OPTIONAL_PACKAGES = {
  baileys: { name: "baileys", version: "7.0.0-rc14", use: "WhatsApp Web", megabytes: 50 },
} as const satisfies Readonly<Record<string, OptionalPackage>>;

/** One package of a lock file, by its place below `node_modules`. */
interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
  /** It may be missing: it is for another platform. */
  readonly optional?: boolean;
}

export type Locked = Readonly<Record<string, LockedPackage>>;

/** Written by `npm run tool -- optional-locks`. */
export const lockFileOf = ({ name }: Pick<OptionalPackage, "name">): string =>
  fileURLToPath(new URL(`./${name}.lock.json`, import.meta.url));

export const lockOf = (one: OptionalPackage): Locked =>
  one.locked ?? (JSON.parse(readFileSync(lockFileOf(one), "utf8")) as Locked);

export const manifestOf = ({ name, version }: OptionalPackage) => ({
  name: "rookery-optional",
  private: true,
  dependencies: { [name]: version },
});
