/**
 * A toolkit that loads with the first run: a node that only accepts messages starts without it. A new run asks for its prompt
 * first, which loads the tools. A run that resumes needs them at once, so call `ready` before resuming. Once loaded, its
 * functions are those of the real toolkit.
 */
import { InvariantError } from "../../core/errors.ts";
import type { Toolkit } from "./create-toolkit.ts";

export interface LazyToolkit extends Toolkit {
  /** Sets how to load. Tools need the engine, which is created with this toolkit. */
  connect(load: () => Promise<Toolkit>): void;
  /** Loads the toolkit, once. */
  ready(): Promise<void>;
}

export function lazyToolkit(): LazyToolkit {
  let load: (() => Promise<Toolkit>) | undefined;
  let loading: Promise<void> | undefined;
  const notLoaded = (): never => {
    throw new InvariantError("A run asked for its tools before they were loaded.");
  };
  const become = ({ tools, promptOf, surroundingsOf, placeOf, close }: Toolkit): void => {
    const { list, shown, find, known } = tools;
    const bound = {
      list: list.bind(tools),
      shown: shown?.bind(tools),
      find: find.bind(tools),
      known: known?.bind(tools),
    };
    Object.assign(toolkit.tools, bound);
    Object.assign(toolkit, { promptOf, surroundingsOf, placeOf, close });
  };
  const toolkit: LazyToolkit = {
    connect(how) {
      load = how;
    },
    ready() {
      if (!load) throw new InvariantError("The toolkit is used before it is connected.");
      loading ??= load().then(become);
      return loading;
    },
    tools: { list: notLoaded, find: notLoaded },
    async promptOf(agent, contextWindow, settings) {
      await toolkit.ready();
      return toolkit.promptOf(agent, contextWindow, settings);
    },
    async surroundingsOf(agent, call, effects, runId) {
      await toolkit.ready();
      return toolkit.surroundingsOf(agent, call, effects, runId);
    },
    async placeOf(agent) {
      await toolkit.ready();
      return toolkit.placeOf(agent);
    },
  };
  return toolkit;
}
