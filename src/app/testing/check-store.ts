/**
 * The contract of a store, as checks that any test runner can use: what the engine relies on so that nothing accepted is lost and
 * nothing is done twice. Each check gets a store of its own.
 */
import { errorText } from "../../core/errors.ts";
import { assertKnownKeys } from "../../core/known-keys.ts";
import type { Store } from "../../core/store/store.ts";
import { STORE_RULES } from "./store-rules.ts";
import { worldOn } from "./store-world.ts";

export interface StoreTrial {
  /** A new, empty store. */
  readonly open: () => Promise<Store>;
  /** Opens the same data again after the store was closed. Absent: what must outlive the store is not checked. */
  readonly reopen?: (closed: Store) => Promise<Store>;
}

/** What the store does wrong, one line per broken rule; empty if it keeps the contract. Closes every store it opens. */
export async function checkStore(trial: StoreTrial): Promise<readonly string[]> {
  assertKnownKeys("checkStore()", trial, { open: true, reopen: true });
  const { open, reopen } = trial;
  const problems: string[] = [];
  for (const [rule, check] of Object.entries(STORE_RULES)) {
    let store = await open();
    try {
      const world = await worldOn(store);
      const again =
        reopen &&
        (async () => {
          await world.store.close();
          store = await reopen(world.store);
          world.store = store;
        });
      await check(world, again);
    } catch (error) {
      problems.push(`${rule}: ${errorText(error)}`);
    } finally {
      await store.close();
    }
  }
  return problems;
}
