/**
 * Minted tokens in `tokens.json` of the home, for its owner only: hashes, never tokens. Written beside its place and
 * moved there, by one writer at a time; a file that cannot be read is never replaced.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { DIRECTORY_MODE, FILE_MODE } from "../../../config/paths.ts";
import { ConfigError } from "../../../core/errors.ts";
import { SCOPES } from "./scope.ts";

const allowanceSchema = z.object({
  requestsPerMinute: z.number().positive().optional(),
  tokensPerDay: z.number().positive().optional(),
  dollarsPerDay: z.number().positive().optional(),
});

const tokenRecordSchema = z.looseObject({
  id: z.string().regex(/^[a-z0-9]{12}$/),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)).min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.number().int(),
  /** The token that minted it. Whoever is revoked takes along what it minted. */
  createdBy: z.string(),
  expiresAt: z.number().int().optional(),
  person: z.string().min(1).optional(),
  limits: allowanceSchema.optional(),
});
export type TokenRecord = z.infer<typeof tokenRecordSchema>;

const tokenFileSchema = z.looseObject({ version: z.literal(1), tokens: z.array(tokenRecordSchema) });

/** Throws a `ConfigError` where the file is there and cannot be used. */
export function readTokenFile(file: string): readonly TokenRecord[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw unusable(file, cause);
  }
  try {
    return parseTokens(text);
  } catch (cause) {
    throw unusable(file, cause);
  }
}

/** Throws where the text is not one that `tokensText` gave. */
export const parseTokens = (text: string): readonly TokenRecord[] => tokenFileSchema.parse(JSON.parse(text)).tokens;

export const tokensText = (tokens: readonly TokenRecord[]): string =>
  `${JSON.stringify({ version: 1, tokens }, null, 2)}\n`;

const unusable = (file: string, cause: unknown): ConfigError =>
  new ConfigError(`The tokens in ${file} cannot be read.`, {
    cause,
    hint: "Correct the file, or move it away; tokens that are not in it no longer open anything.",
  });

/** Reads, changes and writes the file as one step. Durable when it returns. */
export function changeTokenFile(
  file: string,
  change: (tokens: readonly TokenRecord[]) => readonly TokenRecord[],
): readonly TokenRecord[] {
  mkdirSync(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
  const unlock = lock(`${file}.lock`);
  try {
    const tokens = change(readTokenFile(file));
    writePrivately(file, tokensText(tokens));
    return tokens;
  } finally {
    unlock();
  }
}

/** Writes a file whole, flushed, for its owner only. */
export function writePrivately(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
  const fd = openSync(temporary, "wx", FILE_MODE);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

const LOCK_WAIT_MS = 2_000;
/** A lock this old was left by a process that died with it. */
const LOCK_STALE_MS = 10_000;

function lock(path: string): () => void {
  const until = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      closeSync(openSync(path, "wx", FILE_MODE));
      return () => rmSync(path, { force: true });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(path, cause);
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > LOCK_STALE_MS) rmSync(path, { force: true });
      else if (Date.now() > until) throw unusable(path, cause);
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
