/**
 * The logins of a home, in `logins.json`, which only its owner can read. Written to a temporary file and renamed. An unreadable
 * file is never replaced (L11). Only a holder of the lock writes.
 */
import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { ConfigError } from "../../../core/errors.ts";
import { writePrivateFile } from "../../system/private-file.ts";

const credentialSchema = z.looseObject({ access: z.string().min(1), refresh: z.string(), expires: z.number() });

/** Throws if a server left out a token: the library does not check all of them. */
export function checkCredential<T>(credential: T): T {
  if (!credentialSchema.safeParse(credential).success) throw new TypeError("incomplete tokens");
  return credential;
}

const loginSchema = z.looseObject({
  /** The same in every copy of the file. */
  id: z.string().min(1),
  /** The key with which a copy in a shared store is encrypted. It is never in that store. */
  seal: z.string().min(1),
  loggedInAt: z.number(),
  /** How many times the tokens were refreshed: of two copies, the one with more is newer. */
  renewals: z.number(),
  /** The provider's tokens as the library wants them back. */
  credential: credentialSchema,
  /** What a request needs. */
  auth: z.looseObject({
    apiKey: z.string().optional(),
    headers: z.record(z.string(), z.string().nullable()).optional(),
    baseUrl: z.string().optional(),
  }),
  /** Set when the provider refused to refresh: the person must log in again. */
  ended: z.looseObject({ at: z.number(), why: z.string() }).optional(),
});

export type Login = z.infer<typeof loginSchema>;
/** By provider, then by auth profile. */
export type LoginsByProvider = Readonly<Record<string, Readonly<Record<string, Login>>>>;

const fileSchema = z.looseObject({
  version: z.literal(1),
  logins: z.record(z.string(), z.record(z.string(), loginSchema)),
});

/** Empty if there is no file. Throws a `ConfigError` if the file is unreadable. */
export function readLogins(file: string): LoginsByProvider {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw unusable(file, cause);
  }
  try {
    return fileSchema.parse(JSON.parse(text)).logins;
  } catch {
    // The parser's error is dropped: it may quote a token.
    throw unusable(file);
  }
}

export const loginIn = (logins: LoginsByProvider, provider: string, profile: string): Login | undefined =>
  Object.hasOwn(logins, provider) && Object.hasOwn(logins[provider] ?? {}, profile)
    ? logins[provider]?.[profile]
    : undefined;

/** Sets a login; undefined removes it. Durable when it returns. */
export function writeLogin(file: string, provider: string, profile: string, login: Login | undefined): void {
  const logins = readLogins(file);
  const { [profile]: _, ...others } = Object.hasOwn(logins, provider) ? (logins[provider] ?? {}) : {};
  const profiles = login === undefined ? others : { ...others, [profile]: login };
  const { [provider]: __, ...rest } = logins;
  const all = Object.keys(profiles).length === 0 ? rest : { ...rest, [provider]: profiles };
  writePrivateFile(file, `${JSON.stringify({ version: 1, logins: all }, null, 2)}\n`);
}

/** Reads the file again when it has changed. A file that cannot be read has no logins, and is reported once. */
export function loginsIn(file: string, onProblem: (error: unknown) => void): () => LoginsByProvider {
  let seen = "";
  let logins: LoginsByProvider = {};
  return () => {
    const { mtimeMs, size, ino } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: 0, ino: 0 };
    const now = `${mtimeMs} ${size} ${ino}`;
    if (now === seen) return logins;
    seen = now;
    try {
      logins = readLogins(file);
    } catch (error) {
      logins = {};
      onProblem(error);
    }
    return logins;
  };
}

const unusable = (file: string, cause?: unknown): ConfigError =>
  new ConfigError(`The logins in ${file} cannot be read.`, {
    cause,
    hint: "Correct the file, or move it away and log in again with `rookery auth login`.",
  });
