/**
 * The records of minted tokens in `tokens.json` of the home: hashes, never tokens. Only the owner can read the file. One
 * writer at a time writes a temporary file and renames it; an unreadable file is never replaced.
 */
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { makeDirectory } from "../../../adapters/system/make-directory.ts";
import { writePrivateFile } from "../../../adapters/system/private-file.ts";
import { FILE_MODE } from "../../../config/paths.ts";
import { ConfigError } from "../../../core/errors.ts";
import { SCOPES } from "../../../core/rights/scope.ts";

const limitsSchema = z.object({
  requestsPerMinute: z.number().positive().optional(),
  messagesPerDay: z.number().positive().optional(),
  tokensPerDay: z.number().positive().optional(),
  dollarsPerDay: z.number().positive().optional(),
});

const tokenRecordSchema = z.looseObject({
  id: z.string().regex(/^[a-z0-9]{12}$/),
  /** A label for people. */
  name: z.string(),
  /** Absent: minted before tokens had kinds. */
  kind: z.enum(["owner", "application", "person"]).optional(),
  scopes: z.array(z.enum(SCOPES)).min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.number().int(),
  /** The token that minted it: revoking that one revokes this one too. */
  createdBy: z.string(),
  expiresAt: z.number().int().optional(),
  /** Of kind `person`: the person's id. Without a kind: the only `user` it may name. */
  person: z.string().min(1).optional(),
  /** Of kind `application`: the name that its users live under. */
  app: z.string().min(1).optional(),
  limits: limitsSchema.optional(),
  /** The `Idempotency-Key` it was minted with, and what that request said, as digests. */
  request: z.object({ key: z.string(), digest: z.string() }).optional(),
});
export type TokenRecord = z.infer<typeof tokenRecordSchema>;

const tokenFileSchema = z.looseObject({ version: z.literal(1), tokens: z.array(tokenRecordSchema) });

/** Throws a `ConfigError` if the file exists and is unreadable. */
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

/** Throws if the text does not have the format of `tokensText`. */
export const parseTokens = (text: string): readonly TokenRecord[] => tokenFileSchema.parse(JSON.parse(text)).tokens;

export const tokensText = (tokens: readonly TokenRecord[]): string =>
  `${JSON.stringify({ version: 1, tokens }, null, 2)}\n`;

const unusable = (file: string, cause: unknown): ConfigError =>
  new ConfigError(`The tokens in ${file} cannot be read.`, {
    cause,
    hint: "Repair the file, or move it away; tokens that are not in it are no longer valid.",
  });

/** Reads, changes and writes the file under a lock. Durable when it returns. */
export function changeTokenFile(
  file: string,
  change: (tokens: readonly TokenRecord[]) => readonly TokenRecord[],
): readonly TokenRecord[] {
  makeDirectory(dirname(file));
  const unlock = lock(`${file}.lock`);
  try {
    const tokens = change(readTokenFile(file));
    writePrivateFile(file, tokensText(tokens));
    return tokens;
  } finally {
    unlock();
  }
}

const LOCK_WAIT_MS = 2_000;
/** A lock of this age belongs to a process that died. */
const LOCK_STALE_MS = 10_000;

function lock(path: string): () => void {
  const until = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      const fd = openSync(path, "wx", FILE_MODE);
      writeSync(fd, String(process.pid));
      closeSync(fd);
      return () => rmSync(path, { force: true });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(path, cause);
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > LOCK_STALE_MS || isOfDeadProcess(path)) rmSync(path, { force: true });
      else if (Date.now() > until) throw unusable(path, cause);
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** A lock that names no process is just being made. */
function isOfDeadProcess(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
