/** Finds the shared database of a node: the command line or the environment names it, else the configuration. */
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import { InvalidInputError } from "../../core/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined: the node uses the embedded store of its home. */
export function sharedStoreUrl(
  paths: HomePaths,
  config: Pick<Config, "store">,
  env: Environment = {},
): string | undefined {
  const url = paths.sharedStore ?? config.store.url?.reveal(secretDeps(paths.home, env));
  return url === undefined ? undefined : postgresUrl(url);
}

/** Checks the address of a PostgreSQL database. The error does not quote it: it may hold a password. */
export function postgresUrl(text: string): string {
  if (isPostgresUrl(text) && URL.canParse(text)) return text;
  throw new InvalidInputError("The address of the store is not a PostgreSQL URL.", {
    hint: "Write postgres://user@host:5432/database, or leave it out to use the store in the home directory.",
  });
}

export const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//.test(text);
