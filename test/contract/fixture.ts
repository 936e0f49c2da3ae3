/** Shared by contract tests: how a store is opened and closed around a test. */
import { type TestContext, test } from "vitest";
import { type World, worldOn } from "../../src/app/testing/store-world.ts";
import type { Store } from "../../src/core/store/store.ts";

export * from "../../src/app/testing/store-world.ts";

export interface Opened {
  readonly store: Store;
  /** Opens the same data again after `store.close()`. Absent if data does not outlive the store. */
  readonly reopen?: () => Promise<Store>;
  readonly dispose?: () => Promise<void>;
  /** Later tests use the same store, emptied: a test need not close it. Opening one costs far more than emptying it. */
  readonly isShared?: boolean;
  /** Damages rows in the database behind the store's back. */
  readonly damage?: (statement: string) => Promise<void>;
}
export type Opener = () => Promise<Opened>;

/** A test that gets an empty store. The store is closed at the end, also when the test fails. */
export function storeTest(
  title: string,
  open: Opener,
  body: (world: World, opened: Opened, context: TestContext) => Promise<void>,
): void {
  test(title, async (context) => {
    const opened = await open();
    const world = await worldOn(opened.store);
    try {
      await body(world, opened, context);
    } finally {
      await closed(world, opened);
    }
  });
}

/** Ends a test's use of its store. */
export async function closed(world: World, opened: Opened): Promise<void> {
  if (!opened.isShared || world.store !== opened.store) await world.store.close();
  await opened.dispose?.();
}

/** Closes the world's store and opens it again on the same data. */
export async function reopened(world: World, opened: Opened, context: TestContext): Promise<void> {
  if (!opened.reopen) return context.skip("data of this store does not outlive it");
  await world.store.close();
  world.store = await opened.reopen();
}
