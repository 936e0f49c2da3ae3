/**
 * The configuration of a running node. A reload swaps sections in place, so code that reads `config.section` at the moment
 * of use reads the new one, and code that kept a section keeps the old one.
 */
import type { Config } from "../../config/config-schema.ts";

export interface LiveConfig {
  /** The same object for the life of the process. */
  readonly config: Config;
  replace(next: Config): void;
}

export function liveConfigOf(initial: Config): LiveConfig {
  const config = { ...initial };
  return {
    config,
    replace(next) {
      Object.assign(config, next);
    },
  };
}
