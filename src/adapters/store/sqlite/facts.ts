/** The table `facts`: small durable values by key, such as a connector's offset. */
import { CONVERSATIONS_FACT, type Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT value FROM facts WHERE key = ?";
const PUT = "INSERT INTO facts (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const REMOVE = "DELETE FROM facts WHERE key = ?";

export const readFact = (db: Database, key: string): string | undefined =>
  db.get<{ value: string }>(SELECT, key)?.value;

export const factReads = (db: Database): Pick<StoreReader, "fact"> => ({ fact: async (key) => readFact(db, key) });

export function writeFact(db: Database, key: string, value: string): void {
  db.run(PUT, key, value);
}

export function putFact({ db, touched }: Applying, { key, value, expect }: Extract<Op, { op: "fact.put" }>): undefined {
  if (expect !== undefined && (readFact(db, key) ?? null) !== expect) {
    throw new RefusedChange("conflict", `The fact ${key} has changed.`);
  }
  if (value === null) db.run(REMOVE, key);
  else writeFact(db, key, value);
  if (key === CONVERSATIONS_FACT) touched.add("people");
}
