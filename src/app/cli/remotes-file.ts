/**
 * The file of the remotes: addresses that a person saved under a name, with their tokens. It belongs to its owner alone.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { FILE_MODE } from "../../config/paths.ts";
import { ConfigError } from "../../core/errors.ts";

const remoteSchema = z.object({ url: z.string().min(1), token: z.string().min(1) });
const fileSchema = z.record(z.string(), remoteSchema);
type Remotes = Readonly<z.infer<typeof fileSchema>>;

const fileIn = (home: string): string => join(home, "remotes.json");

export function readRemotes(home: string): Remotes {
  let text: string;
  try {
    text = readFileSync(fileIn(home), "utf8");
  } catch {
    return {};
  }
  const parsed = fileSchema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new ConfigError(`${fileIn(home)} cannot be read.`, {
    hint: "Correct it, or remove it and add the remotes again.",
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whole or not at all. */
export function writeRemotes(home: string, remotes: Remotes): void {
  const file = fileIn(home);
  writeFileSync(`${file}.tmp`, `${JSON.stringify(remotes, null, 2)}\n`, { mode: FILE_MODE });
  renameSync(`${file}.tmp`, file);
}
