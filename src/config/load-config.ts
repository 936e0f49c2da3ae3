/** Reads the configuration file of a home, and the files that secrets refer to. */
import { readFileSync } from "node:fs";
import { ConfigError } from "../core/errors.ts";
import type { Config } from "./config-schema.ts";
import type { CheckedConfig, Environment, ParsedConfig } from "./parse-config.ts";
import { type HomePaths, resolvePath } from "./paths.ts";
import { quickConfig, type SectionName } from "./quick-config.ts";
import type { SecretDeps } from "./secret.ts";

export interface LoadedConfig extends ParsedConfig {
  readonly file: string;
  /** A missing file is an empty configuration. */
  readonly exists: boolean;
  /** Whether there is nothing in it, not even braces: also true for a missing file. */
  readonly blank: boolean;
}

/** Throws a `ConfigError` if the file cannot be read or used. */
export async function loadConfig(paths: HomePaths, env: Environment): Promise<LoadedConfig> {
  const text = await readConfigText(paths.config);
  const source = { text: text ?? "", file: paths.config, env };
  const quick = await quickConfig(source);
  const parsed = quick ? { config: quick, warnings: [] } : (await import("./parse-config.ts")).parseConfig(source);
  return { ...parsed, file: paths.config, exists: text !== undefined, blank: (text ?? "").trim() === "" };
}

/** One section of the configuration. Only a text that cannot be read without the others has them checked too. */
export async function loadSection<Name extends SectionName>(
  paths: HomePaths,
  env: Environment,
  name: Name,
): Promise<Config[Name]> {
  const source = { text: (await readConfigText(paths.config)) ?? "", file: paths.config, env };
  const quick = await quickConfig(source, [name]);
  return (quick ?? (await loadConfig(paths, env)).config)[name];
}

/** Like `loadConfig`, but returns the problems instead of throwing. */
export async function inspectConfig(
  paths: HomePaths,
  env: Environment,
): Promise<CheckedConfig & { readonly exists: boolean; readonly text: string }> {
  const text = await readConfigText(paths.config);
  const { checkConfig } = await import("./parse-config.ts");
  const checked = checkConfig({ text: text ?? "", file: paths.config, env });
  return { ...checked, exists: text !== undefined, text: text ?? "" };
}

/** How secrets are revealed: from the environment, and from files with paths as in the configuration. */
export const secretDeps = (home: string, env: Environment): SecretDeps => ({
  env,
  readFile: (path) => readFileSync(resolvePath(path, home), "utf8"),
});

async function readConfigText(file: string): Promise<string | undefined> {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ConfigError(`The configuration ${file} cannot be read: ${(cause as Error).message}.`, {
      cause,
      hint: "Make the file readable for this user.",
    });
  }
}
