/** A world on a database in memory whose rows a test can look at and change. Every change is a group of its own. */
import { type World, worldOn } from "../../../app/testing/store-world.ts";
import type { Store } from "../../../core/store/store.ts";
import { applyGroup, outcomeOf } from "./apply-change.ts";
import { type Database, openDatabase } from "./database.ts";
import { eraserOf } from "./erase.ts";
import { readerOf } from "./reader.ts";

export async function memoryWorld(): Promise<{ readonly world: World; readonly db: Database }> {
  const db = openDatabase(":memory:");
  const store: Store = {
    ...readerOf(db),
    eraser: eraserOf(db),
    async commit(change) {
      const [result] = applyGroup(db, [change]);
      if (result === undefined || result instanceof Error) throw result;
      return result;
    },
    outcome: async (id) => outcomeOf(db, id),
    ready: async () => {},
    onHint: () => () => {},
    close: async () => db.close(),
  };
  return { world: await worldOn(store), db };
}
