/** A session of WhatsApp Web whose keys are stored in rounds: keys of two rounds never stand side by side. */
import { seededIds } from "../../../app/testing/ids.ts";
import type { Store } from "../../../core/store/store.ts";
import { systemClock } from "../../system/system-clock.ts";
import { type StoredAuth, storedAuth } from "./stored-auth.ts";

let opened = 0;

export const sessionIn = (store: Store, account = "web"): StoredAuth =>
  storedAuth({ store, ids: seededIds(`session-${++opened}`), clock: systemClock }, account);

const IDS = Array.from({ length: 40 }, (_, n) => String(n));

/** Keys of several types that belong together: all of one round. */
export function roundOf(round: number): Parameters<StoredAuth["set"]>[0] {
  const all = Object.fromEntries(IDS.map((id) => [id, Buffer.from(`${round}`)]));
  return { "pre-key": all, session: all, "sender-key": { only: { round } } };
}

/** The rounds of all keys that are stored. Lawful: one. */
export async function roundsIn(auth: StoredAuth): Promise<readonly number[]> {
  const rounds = new Set<number>();
  for (const type of ["pre-key", "session"]) {
    const found = await auth.get(type, IDS);
    for (const id of IDS) rounds.add(Number(String(found[id] ?? Number.NaN)));
  }
  const { only } = await auth.get("sender-key", ["only"]);
  rounds.add((only as { round: number } | undefined)?.round ?? Number.NaN);
  return [...rounds];
}
