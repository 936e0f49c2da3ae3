/** The trace of one message, and what is counted in it. A module is a second-level folder such as `src/engine/agents`. */

/** The file of each function that starts while a message is processed, in order. */
export type Trace = readonly string[];

/** Where a message comes from. */
export const SURFACES = ["terminal", "HTTP", "Telegram"] as const;
export type Surface = (typeof SURFACES)[number];
export type Traces = Readonly<Record<Surface, Trace>>;

export interface Figures {
  readonly files: number;
  readonly modules: number;
  /** How often the next function starts in another module than the one before. */
  readonly switches: number;
}

/** `src/engine/agents/actor/take.ts` is in `src/engine/agents`, `src/core/ids.ts` in `src/core`. */
export const moduleName = (file: string): string => file.split("/").slice(0, -1).slice(0, 3).join("/");

/** In the order in which the message first enters them. */
export const filesOf = (trace: Trace): readonly string[] => [...new Set(trace)];
export const modulesOf = (trace: Trace): readonly string[] => [...new Set(trace.map(moduleName))];

export function figuresOf(trace: Trace): Figures {
  const modules = trace.map(moduleName);
  return {
    files: filesOf(trace).length,
    modules: modulesOf(trace).length,
    switches: modules.filter((name, at) => at > 0 && name !== modules[at - 1]).length,
  };
}

/**
 * One trace of several messages: that with the middle number of switches, without the files that another message does not pass. Work of
 * timers may run during one of the messages, but hardly during all.
 */
export function usualTrace(traces: readonly Trace[]): Trace {
  const common = traces.map((trace) => trace.filter((file) => traces.every((other) => other.includes(file))));
  const ordered = common.sort((a, b) => figuresOf(a).switches - figuresOf(b).switches);
  return ordered[Math.floor(ordered.length / 2)] ?? [];
}

/** One order for lists that share most of their names: what only a later list has comes after the name before it there. */
export function mergeOrders(lists: readonly (readonly string[])[]): readonly string[] {
  const merged: string[] = [];
  for (const list of lists) {
    for (const [at, name] of list.entries()) {
      if (merged.includes(name)) continue;
      const before = list[at - 1];
      merged.splice(before === undefined ? 0 : merged.indexOf(before) + 1, 0, name);
    }
  }
  return merged;
}
