/**
 * Data that takes minutes to make is made once and used again, in a directory outside the repository. Its name holds a digest of the
 * sources that make it, so a change of the index makes it again. `ROOKERY_BENCH_CACHE` names another directory.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const COMMON = [
  "src/core/search/words.ts",
  "src/adapters/search/documents-of.ts",
  "test/memory/conversations.ts",
  "test/memory/questions.ts",
  "bench/memory/fill.ts",
];

export interface CachedData {
  readonly name: string;
  readonly entries: number;
  /** The sources that decide what is written. */
  readonly sources: readonly string[];
  /** Fills an empty directory. */
  build(directory: string): Promise<void>;
}

/** The directory with the data. Older data of the same name is removed. */
export async function cachedData({ name, entries, sources, build }: CachedData): Promise<string> {
  const digest = createHash("sha256");
  for (const file of [...COMMON, ...sources]) digest.update(readFileSync(join(root, file)));
  const cache = process.env.ROOKERY_BENCH_CACHE ?? join(tmpdir(), "rookery-bench-memory");
  mkdirSync(cache, { recursive: true });
  const kind = `${name}-${entries}-`;
  const whole = join(cache, `${kind}${digest.digest("hex").slice(0, 12)}`);
  if (existsSync(whole)) return whole;
  for (const old of readdirSync(cache)) if (old.startsWith(kind)) rmSync(join(cache, old), { recursive: true });
  mkdirSync(`${whole}.new`);
  await build(`${whole}.new`);
  // Only whole data has the name that is looked for.
  renameSync(`${whole}.new`, whole);
  return whole;
}
