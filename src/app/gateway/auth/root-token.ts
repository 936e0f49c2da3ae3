/** The home's own token, with the scope `admin`: `ROOKERY_TOKEN`, or one created at the first start in a file of mode 0600. */
import { readFileSync, statSync } from "node:fs";
import { writePrivateFile } from "../../../adapters/system/private-file.ts";
import { ConfigError } from "../../../core/errors.ts";
import { freshToken, MAX_TOKEN } from "./token.ts";

export interface RootToken {
  readonly text: string;
  readonly from: { readonly env: "ROOKERY_TOKEN" } | { readonly file: string; readonly made: boolean };
}

export const MIN_ROOT = 16;

export function rootToken(file: string, env: Readonly<Record<string, string | undefined>>): RootToken {
  const given = env.ROOKERY_TOKEN?.trim();
  if (given) {
    if (given.length > MAX_TOKEN || /[^\x21-\x7e]/.test(given)) {
      throw new ConfigError("ROOKERY_TOKEN cannot be used as a token.", {
        hint: `Use up to ${MAX_TOKEN} printable ASCII characters without spaces.`,
      });
    }
    return { text: given, from: { env: "ROOKERY_TOKEN" } };
  }
  const stored = readStored(file);
  if (stored !== undefined) return { text: stored, from: { file, made: false } };
  const { text } = freshToken();
  writePrivateFile(file, `${text}\n`);
  return { text, from: { file, made: true } };
}

function readStored(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if ((stat.mode & 0o077) !== 0) {
    throw new ConfigError(`Other users can read the token in ${file}.`, {
      hint: `They may know it. Remove the file: the next start creates a new token. To keep the token: chmod 600 ${file}`,
    });
  }
  const text = readFileSync(file, "utf8").trim();
  if (text !== "") return text;
  throw new ConfigError(`The token file ${file} is empty.`, {
    hint: "Remove it; the next start creates a new token.",
  });
}
