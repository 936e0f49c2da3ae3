/** Changes the store from the command line, in one commit. An embedded store must not be in use by a node. */

import type { HomePaths } from "../../config/paths.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { submit } from "../../engine/commit/submit.ts";
import { writeHome } from "./write-home.ts";

/** `ops` may read the store first. Resolves with the `result` that it returns beside the ops. */
export async function changeHome<T>(
  paths: HomePaths,
  site: string,
  ops: (store: Store, now: number) => Promise<{ readonly ops: readonly Op[]; readonly result: T }>,
): Promise<T> {
  const { systemClock } = await import("../../adapters/system/system-clock.ts");
  const { systemIds } = await import("../../adapters/system/system-ids.ts");
  return writeHome(paths, async (store) => {
    const at = systemClock.now();
    const { ops: wanted, result } = await ops(store, at);
    const done = await submit({ store, ids: systemIds(), clock: systemClock }, site, wanted, { at });
    if (!done.ok) throw new NotFoundError(done.detail, { hint: "Nothing was changed." });
    return result;
  });
}
