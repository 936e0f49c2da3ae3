/**
 * Tools and prompts, loaded with the first run: to accept a message nobody needs them. Whoever begins a run asks for its
 * prompt first, so its tools are there; where a run goes on from the middle they must have been made ready before.
 */
import { InvariantError } from "../../core/errors.ts";
import type { Toolkit } from "./create-toolkit.ts";

export interface LazyToolkit extends Toolkit {
  /** Loads them, once. */
  ready(): Promise<Toolkit>;
}

export function lazyToolkit(load: () => Promise<Toolkit>): LazyToolkit {
  let loading: Promise<Toolkit> | undefined;
  let toolkit: Toolkit | undefined;
  const ready = (): Promise<Toolkit> => {
    loading ??= load().then((loaded) => {
      toolkit = loaded;
      return loaded;
    });
    return loading;
  };
  const loaded = (): Toolkit => {
    if (toolkit) return toolkit;
    throw new InvariantError("A run asked for its tools before they were loaded.");
  };
  return {
    ready,
    tools: {
      list: (agent) => loaded().tools.list(agent),
      find: (agent, name) => loaded().tools.find(agent, name),
    },
    promptOf: async (agent) => (toolkit ?? (await ready())).promptOf(agent),
  };
}
