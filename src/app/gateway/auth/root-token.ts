/** The home's own token, which may do everything: from `ROOKERY_TOKEN`, else made at the first start and kept, mode 0600. */
import { readFileSync, statSync } from "node:fs";
import { ConfigError } from "../../../core/errors.ts";
import { freshToken, MAX_TOKEN } from "./token.ts";
import { writePrivately } from "./token-file.ts";

export interface RootToken {
  readonly text: string;
  /** Where a person finds it. */
  readonly from: { readonly env: "ROOKERY_TOKEN" } | { readonly file: string; readonly made: boolean };
}

export const MIN_ROOT = 16;

export function rootToken(file: string, env: Readonly<Record<string, string | undefined>>): RootToken {
  const given = env.ROOKERY_TOKEN?.trim();
  if (given) {
    if (given.length > MAX_TOKEN || /[^\x21-\x7e]/.test(given)) {
      throw new ConfigError("ROOKERY_TOKEN cannot be used as a token.", {
        hint: `Use up to ${MAX_TOKEN} printable characters without blanks.`,
      });
    }
    return { text: given, from: { env: "ROOKERY_TOKEN" } };
  }
  const kept = readKept(file);
  if (kept !== undefined) return { text: kept, from: { file, made: false } };
  const { text } = freshToken();
  writePrivately(file, `${text}\n`);
  return { text, from: { file, made: true } };
}

function readKept(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if ((stat.mode & 0o077) !== 0) {
    throw new ConfigError(`Others than its owner can read the token in ${file}.`, {
      hint: `It may be known to them: remove it, a new one is made at the next start. To keep it: chmod 600 ${file}`,
    });
  }
  const text = readFileSync(file, "utf8").trim();
  if (text !== "") return text;
  throw new ConfigError(`The token file ${file} is empty.`, {
    hint: "Remove it; a new token is made at the next start.",
  });
}
