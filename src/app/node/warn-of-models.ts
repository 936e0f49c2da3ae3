/** Warns about models of the configuration that the catalogues or the keys of the home do not have. Never throws. */
import type { OpenModels } from "../../adapters/models/open-models.ts";
import type { Config } from "../../config/config-schema.ts";
import { errorText } from "../../core/errors.ts";
import type { Log } from "../../core/ports/log.ts";

export async function warnOfModels(config: Config, models: OpenModels, log: Log): Promise<void> {
  try {
    const { configProblems } = await import("../../adapters/models/config-problems.ts");
    for (const { path, message } of await configProblems(config, models)) log.warn(`${path.join(".")}: ${message}`);
  } catch (error) {
    log.warn("the configured models were not checked", { error: errorText(error) });
  }
}
