/** Fuzzes the configuration file: every text is either used, or refused with the place of the error. */
import { compareConfigs, liveConfig } from "../../src/app/gateway/reload.ts";
import { checkConfig, formatNote } from "../../src/config/parse-config.ts";
import { STARTER_CONFIG } from "../../src/config/starter-config.ts";
import { GOOD_CONFIG } from "./good-inputs.ts";
import { anyValue, garbled, spoilt } from "./random-json.ts";
import { count, type Target } from "./target.ts";

const BASE = checkConfig({ text: STARTER_CONFIG, file: "rookery.json5", env: {} }).config;
const seen = new Map<string, number>();

export const configTarget: Target = {
  name: "the configuration file",
  seen,
  async tryOnce(random) {
    const kind = random.below(4);
    const text =
      kind === 0
        ? garbled(random, STARTER_CONFIG).toString("utf8")
        : kind === 1
          ? garbled(random, JSON.stringify(GOOD_CONFIG)).toString("utf8")
          : JSON.stringify(kind === 2 ? spoilt(random, GOOD_CONFIG) : anyValue(random));
    try {
      const { config, errors, warnings } = checkConfig({ text: text ?? "", file: "rookery.json5", env: {} });
      count(seen, config ? "used" : "refused");
      if (!config && errors.length === 0) return `neither used nor refused: ${text}`;
      for (const note of [...errors, ...warnings]) {
        if (!/^rookery\.json5:\d+:\d+: ./.test(formatNote(note))) return `names no line: ${formatNote(note)}`;
      }
      if (config && BASE) {
        compareConfigs(BASE, config);
        liveConfig(BASE, config);
        JSON.stringify(config);
      }
      return undefined;
    } catch (error) {
      return `threw ${(error as Error).stack} for ${text}`;
    }
  },
};
