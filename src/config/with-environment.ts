/** The environment overrides the store address of the file. */
import type { Config } from "./config-schema.ts";
import type { Environment } from "./parse-config.ts";
import { Secret } from "./secret.ts";

export function withEnvironment(config: Config, env: Environment): Config {
  if (!env.ROOKERY_STORE) return config;
  return { ...config, store: { ...config.store, url: new Secret({ env: "ROOKERY_STORE" }) } };
}
