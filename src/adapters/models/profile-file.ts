/**
 * A private file of the home with secrets by provider and auth profile. Only its owner can read it. It is written to a temporary file
 * and renamed, and an unreadable one is never replaced (L11).
 */
import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import { writePrivateFile } from "../system/private-file.ts";

/** By provider, then by auth profile. */
export type ByProfile<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>;

interface ProfileFile<Value> {
  /** Empty if there is no file. Throws a `ConfigError` if the file is unreadable. */
  read(file: string): ByProfile<Value>;
  /** Sets a value; undefined removes it. Durable when it returns. */
  write(file: string, provider: string, profile: string, value: Value | undefined): void;
  /** Reads the file again when it has changed. A file that cannot be read has no values, and is reported once. */
  follow(file: string, onProblem: (error: unknown) => void): () => ByProfile<Value>;
}

interface ProfileFileOptions<Value> {
  /** What the file holds: the name of its field, and the word in messages. */
  readonly field: string;
  readonly value: z.ZodType<Value>;
  /** What to do if the file cannot be read. */
  readonly hint: string;
}

export function profileFile<Value>({ field, value, hint }: ProfileFileOptions<Value>): ProfileFile<Value> {
  const schema = z.looseObject({ version: z.literal(1) });
  const values = z.record(z.string(), z.record(z.string(), value));
  const unusable = (file: string, cause?: unknown): ConfigError =>
    new ConfigError(`The ${field} in ${file} cannot be read.`, { cause, hint });
  const read: ProfileFile<Value>["read"] = (file) => {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw unusable(file, cause);
    }
    try {
      return values.parse(schema.parse(JSON.parse(text))[field]);
    } catch {
      // The parser's error is dropped: it may quote a secret.
      throw unusable(file);
    }
  };
  return {
    read,
    write(file, provider, profile, written) {
      const known = read(file);
      const { [profile]: _, ...others } = Object.hasOwn(known, provider) ? (known[provider] ?? {}) : {};
      const profiles = written === undefined ? others : { ...others, [profile]: written };
      const { [provider]: __, ...rest } = known;
      const all = Object.keys(profiles).length === 0 ? rest : { ...rest, [provider]: profiles };
      writePrivateFile(file, `${JSON.stringify({ version: 1, [field]: all }, null, 2)}\n`);
    },
    follow(file, onProblem) {
      let seen = "";
      let known: ByProfile<Value> = {};
      return () => {
        const { mtimeMs, size, ino } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: 0, ino: 0 };
        const now = `${mtimeMs} ${size} ${ino}`;
        if (now === seen) return known;
        seen = now;
        try {
          known = read(file);
        } catch (error) {
          known = {};
          onProblem(error);
        }
        return known;
      };
    },
  };
}
