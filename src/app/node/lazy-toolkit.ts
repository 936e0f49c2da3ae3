/**
 * Tools and prompts, loaded with the first run: to accept a message nobody needs them. Whoever begins a run asks for its
 * prompt first, so its tools are there; where a run goes on from the middle they must have been made ready before.
 */
import { InvariantError } from "../../core/errors.ts";
import type { Hands } from "./create-toolkit.ts";

export interface LateHands extends Hands {
  /** Loads them, once. */
  ready(): Promise<Hands>;
}

export function lateHands(load: () => Promise<Hands>): LateHands {
  let loading: Promise<Hands> | undefined;
  let hands: Hands | undefined;
  const ready = (): Promise<Hands> => {
    loading ??= load().then((loaded) => {
      hands = loaded;
      return loaded;
    });
    return loading;
  };
  const loaded = (): Hands => {
    if (hands) return hands;
    throw new InvariantError("A run asked for its tools before they were loaded.");
  };
  return {
    ready,
    tools: {
      list: (agent) => loaded().tools.list(agent),
      find: (agent, name) => loaded().tools.find(agent, name),
    },
    promptOf: async (agent) => (hands ?? (await ready())).promptOf(agent),
  };
}
