/**
 * The keys set with `rookery auth`, in `auth.json` of the home, readable by its owner only. Written to a temporary file and
 * renamed. An unreadable file is never replaced (L11).
 */
import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import { writePrivateFile } from "../system/private-file.ts";
import type { StoredKeys } from "./providers.ts";

const authFileSchema = z.looseObject({
  version: z.literal(1),
  keys: z.record(z.string(), z.record(z.string(), z.string().min(1))),
});

type Keys = ReturnType<StoredKeys>;

/** Empty if there is no file. Throws a `ConfigError` if the file is unreadable. */
export function readAuthFile(file: string): Keys {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw unusable(file, cause);
  }
  try {
    return authFileSchema.parse(JSON.parse(text)).keys;
  } catch {
    // The parser's error is dropped: it may quote a key.
    throw unusable(file);
  }
}

const unusable = (file: string, cause?: unknown): ConfigError =>
  new ConfigError(`The keys in ${file} cannot be read.`, {
    cause,
    hint: "Correct the file, or move it away and set the keys again with `rookery auth set`.",
  });

/** Sets a key; undefined removes it. Durable when it returns. */
export function writeKey(file: string, provider: string, profile: string, key: string | undefined): void {
  const keys = readAuthFile(file);
  const { [profile]: _, ...others } = Object.hasOwn(keys, provider) ? (keys[provider] ?? {}) : {};
  const profiles = key === undefined ? others : { ...others, [profile]: key };
  const { [provider]: __, ...rest } = keys;
  const all = Object.keys(profiles).length === 0 ? rest : { ...rest, [provider]: profiles };
  writePrivateFile(file, `${JSON.stringify({ version: 1, keys: all }, null, 2)}\n`);
}

/** Reads the file again when it has changed, so a new key is used by the next call. */
export function storedKeysIn(file: string, onProblem: (error: unknown) => void): StoredKeys {
  let seen = "";
  let keys: Keys = {};
  return () => {
    const { mtimeMs, size, ino } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: 0, ino: 0 };
    const now = `${mtimeMs} ${size} ${ino}`;
    if (now === seen) return keys;
    seen = now;
    try {
      keys = readAuthFile(file);
    } catch (error) {
      keys = {};
      onProblem(error);
    }
    return keys;
  };
}
