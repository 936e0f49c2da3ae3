/** Opens the storage of minted tokens for one use: the file of a home, or the store that nodes share. */
import type { HomePaths } from "../../config/paths.ts";
import { fileTokenStorage, sharedTokenStorage, type TokenStorage } from "../gateway/auth/token-storage.ts";

export async function withTokenStorage<T>(
  at: { readonly url: string } | { readonly paths: HomePaths },
  use: (storage: TokenStorage) => Promise<T>,
): Promise<T> {
  if ("paths" in at) return use(fileTokenStorage(at.paths.tokens));
  const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
  const { systemClock: clock } = await import("../../adapters/system/system-clock.ts");
  const { systemIds } = await import("../../adapters/system/system-ids.ts");
  const { notifyChanged } = await import("../../engine/cluster/relay-events.ts");
  const store = await openPostgresStore({ url: at.url });
  try {
    const done = await use(sharedTokenStorage({ store, clock, ids: systemIds() }));
    // Running gateways read the tokens again.
    notifyChanged(store.relay, "tokens");
    return done;
  } finally {
    await store.close();
  }
}
