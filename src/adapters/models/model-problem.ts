/** Checks whether a profile's model can be called now, without a call: every key of its provider may rest after a refusal. */
import { freshState } from "../../core/agent/fresh-state.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { refusedKeyText } from "../../core/refused-key.ts";
import type { OpenModels } from "./open-models.ts";
import { splitModelName } from "./provider-model.ts";

/** The reason why a call would fail; undefined if it may succeed. */
export function modelProblem(
  models: Pick<OpenModels, "choose" | "providers">,
  clock: Pick<Clock, "now">,
  profile: string,
  model?: string,
): string | undefined {
  const choice = models.choose({ profile, state: freshState(0) }, model === undefined ? undefined : { model });
  if ((choice.fallbacks ?? []).length > 0) return undefined;
  const split = splitModelName(choice.model);
  const provider = split && models.providers.provider(split.provider);
  if (!split || !provider || provider.keyless) return undefined;
  const { keys, refused } = provider.keys.usable(split.id);
  return keys.length > 0 || refused.length === 0
    ? undefined
    : refused.map((key) => refusedKeyText(key, clock.now())).join(" ");
}
