/** The secrets that this home and its environment contain, whatever their form, so that a text for other people can be cleared of them. */
import { readFileSync } from "node:fs";
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import { mcpAuthFile } from "../../config/paths.ts";
import { MASK, Secret } from "../../config/secret.ts";
import type { CommandContext } from "./command.ts";

/** A shorter text is not recognised: it may be a word. */
const SHORTEST = 8;
const NAMED_SECRET = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

export function knownSecrets({ env, paths }: Pick<CommandContext, "env" | "paths">, config: Config): readonly string[] {
  const stored = [paths.auth, paths.token, paths.logins, mcpAuthFile(paths)].flatMap(wordsIn);
  const named = Object.entries(env).flatMap(([name, value]) => (NAMED_SECRET.test(name) ? [value ?? ""] : []));
  const deps = secretDeps(paths.home, env);
  const configured = secretsIn(config).flatMap((secret) => {
    try {
      return [secret.reveal(deps)];
    } catch {
      return [];
    }
  });
  const found = new Set([...configured, ...named, ...stored]);
  // The longest first: one may contain another.
  return [...found].filter((text) => text.length >= SHORTEST).sort((a, b) => b.length - a.length);
}

/** A JSON text without these secrets, as they stand in JSON. */
export const withoutSecrets = (json: string, secrets: readonly string[]): string =>
  secrets.reduce((whole, secret) => whole.replaceAll(JSON.stringify(secret).slice(1, -1), MASK), json);

function secretsIn(value: unknown): readonly Secret[] {
  if (value instanceof Secret) return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsIn) : [];
}

/** Every value of a JSON file that has no space, or the whole text of another file. */
function wordsIn(file: string): readonly string[] {
  try {
    const text = readFileSync(file, "utf8").trim();
    return text.startsWith("{") ? valuesIn(JSON.parse(text)).filter((one) => /^\S{12,}$/u.test(one)) : [text];
  } catch {
    return [];
  }
}

function valuesIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(valuesIn) : [];
}
