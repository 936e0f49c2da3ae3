/** The same store; who wants to know is told when a commit has changed a job, whichever tool or command made it. */
import type { Change } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";

const changesJobs = ({ ops }: Change): boolean => ops.some(({ op }) => op === "job.put" || op === "job.ran");

export function watchJobs(store: Store, changed: () => void): Store {
  const commit: Store["commit"] = async (change) => {
    const result = await store.commit(change);
    if (result.ok && changesJobs(change)) changed();
    return result;
  };
  // Whatever kind of object the store is, its methods are called on it.
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") return commit;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
