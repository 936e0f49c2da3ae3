/** A configuration that may be replaced while the process runs: whoever asks it at the moment of use gets what holds now. */
import type { Config } from "../../config/config-schema.ts";

export interface LiveConfig {
  /** Its sections are read anew each time they are asked for; a section that was taken out and kept stays as it was. */
  readonly config: Config;
  replace(next: Config): void;
}

export function liveConfigOf(initial: Config): LiveConfig {
  let current = initial;
  const sections = Object.keys(initial) as (keyof Config)[];
  const config = Object.defineProperties(
    {},
    Object.fromEntries(sections.map((name) => [name, { enumerable: true, get: () => current[name] }])),
  ) as Config;
  return {
    config,
    replace(next) {
      current = next;
    },
  };
}
