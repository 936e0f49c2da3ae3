/**
 * Which shared database is meant, if any: what the command line or the environment says, else the configuration. Without
 * one everything is kept in the home.
 */
import { readFileSync } from "node:fs";
import type { Config } from "../../config/config-schema.ts";
import { type HomePaths, resolvePath } from "../../config/paths.ts";
import { InvalidInputError } from "../../core/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function sharedStoreUrl(paths: HomePaths, config: Config, env: Environment = {}): string | undefined {
  const said = paths.sharedStore ?? config.store.url?.reveal({ env, readFile: (path) => fileText(paths, path) });
  return said === undefined ? undefined : postgresUrl(said);
}

/** An address of a PostgreSQL, checked. Never quoted back: it may hold a password. */
export function postgresUrl(text: string): string {
  if (isPostgresUrl(text) && URL.canParse(text)) return text;
  throw new InvalidInputError("The address of the store is not one of a PostgreSQL database.", {
    hint: "Write postgres://user@host:5432/database, or leave it out to keep everything in the home.",
  });
}

export const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//.test(text);

export const fileText = (paths: HomePaths, path: string): string => readFileSync(resolvePath(path, paths.home), "utf8");
