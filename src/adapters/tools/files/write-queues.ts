/** Orders the writes into each directory, so that two writes at the same time cannot both use the last free bytes. */

/** Runs one piece of work after the other, in the order of the calls. */
export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

interface WriteQueues {
  of(directory: string): Exclusive;
}

export function writeQueues(): WriteQueues {
  const last = new Map<string, Promise<unknown>>();
  return {
    of: (directory) => (work) => {
      const mine = (last.get(directory) ?? Promise.resolve()).then(work, work);
      last.set(directory, mine);
      const end = (): void => {
        if (last.get(directory) === mine) last.delete(directory);
      };
      mine.then(end, end);
      return mine;
    },
  };
}
