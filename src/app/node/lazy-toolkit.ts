/**
 * Loads the toolkit with the first run: a node that only accepts messages starts without it. A new run asks for its prompt
 * first, which loads the tools. A run that resumes needs them at once, so call `ready` before resuming.
 */
import { InvariantError } from "../../core/errors.ts";
import type { Toolkit } from "./create-toolkit.ts";

export interface LazyToolkit extends Toolkit {
  /** Sets how to load. Tools need the engine, which is created with this toolkit. */
  connect(load: () => Promise<Toolkit>): void;
  /** Loads the toolkit, once. */
  ready(): Promise<Toolkit>;
}

export function lazyToolkit(): LazyToolkit {
  let load: (() => Promise<Toolkit>) | undefined;
  let loading: Promise<Toolkit> | undefined;
  let toolkit: Toolkit | undefined;
  const ready = (): Promise<Toolkit> => {
    if (!load) throw new InvariantError("The toolkit is used before it is connected.");
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
    connect(how) {
      load = how;
    },
    ready,
    tools: {
      list: (agent) => loaded().tools.list(agent),
      find: (agent, name) => loaded().tools.find(agent, name),
    },
    promptOf: async (agent) => (toolkit ?? (await ready())).promptOf(agent),
  };
}
