/** The models of a running node, for `rookery models test` and `rookery doctor`: they ask the process that answers messages. */
import type { OpenModels } from "../../adapters/models/open-models.ts";
import type { TriedModel } from "../../adapters/models/try-model.ts";
import type { Config } from "../../config/config-schema.ts";
import type { Current } from "../../core/current.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RefusedKey } from "../../core/refused-key.ts";

export interface NodeModels {
  refusedKeys(): readonly RefusedKey[];
  /** Calls a model once, even with keys that rest. Throws `InvalidInputError` for an unknown model. */
  test(wanted: string | undefined, signal: AbortSignal): Promise<TriedModel>;
}

export const nodeModels = (settings: Current<Config>, models: OpenModels, clock: Clock): NodeModels => ({
  refusedKeys: () => models.providers.refusedKeys(),
  async test(wanted, signal) {
    const { testModel } = await import("../../adapters/models/try-model.ts");
    return testModel(settings.current, models, clock, wanted, signal);
  },
});
