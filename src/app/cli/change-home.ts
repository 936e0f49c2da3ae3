/** Changes a home's store from the command line, in one commit: only while nobody else works there, or in the shared one. */

import type { HomePaths } from "../../config/paths.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { submit } from "../../engine/commit/submit.ts";
import { writeHome } from "./write-home.ts";

/** `ops` may look at the store first. Gives what `ops` gave beside them. */
export async function changeHome<T>(
  paths: HomePaths,
  site: string,
  ops: (store: Store, now: number) => Promise<{ readonly ops: readonly Op[]; readonly said: T }>,
): Promise<T> {
  const { systemClock } = await import("../../adapters/system/system-clock.ts");
  const { systemIds } = await import("../../adapters/system/system-ids.ts");
  return writeHome(paths, async (store) => {
    const at = systemClock.now();
    const wanted = await ops(store, at);
    const done = await submit({ store, ids: systemIds(), clock: systemClock }, site, wanted.ops, { at });
    if (!done.ok) throw new NotFoundError(done.detail, { hint: "Nothing was changed." });
    return wanted.said;
  });
}
