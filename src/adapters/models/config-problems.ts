/**
 * What a configuration says about models that only the catalogues and the keys of a home can refute: ids of models, thinking levels,
 * auth profiles. `rookery config check` lists them as errors; a start warns, because a catalogue may be older than a model.
 */
import type { Config } from "../../config/config-schema.ts";
import { type Misnamed, modelNames } from "../../config/references.ts";
import { authProblem, modelProblem, thinkingProblem } from "./check-choice.ts";
import { AUTO, chooseModel } from "./choose-model.ts";
import type { OpenModels } from "./open-models.ts";

export async function configProblems(
  config: Config,
  models: Pick<OpenModels, "providers" | "detect">,
): Promise<readonly Misnamed[]> {
  const found: Misnamed[] = [];
  const note = (path: Misnamed["path"], message: string | undefined): void => {
    if (message !== undefined) found.push({ path, message });
  };
  for (const [path, name] of modelNames(config)) {
    if (name?.includes("/")) note(path, await modelProblem(config, models, name));
  }
  for (const [profile, { thinking, authProfile }] of Object.entries(config.profiles)) {
    const { model } = chooseModel(config, profile, {});
    // Which model is detected may change at any time.
    if (model === AUTO) continue;
    note(["profiles", profile, "thinking"], await thinkingProblem(models, model, thinking));
    note(["profiles", profile, "authProfile"], authProblem(models, model, authProfile));
  }
  const { default: first, thinking } = config.models;
  if (first !== undefined) note(["models", "thinking"], await thinkingProblem(models, first, thinking));
  return found;
}
