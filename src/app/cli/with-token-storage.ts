/** Opens the place where minted tokens lie, for as long as it is used: a home's file, or the store that nodes share. */
import type { HomePaths } from "../../config/paths.ts";
import { fileShelf, sharedShelf, type TokenShelf } from "../gateway/auth/token-storage.ts";

export async function withTokenShelf<T>(
  at: { readonly url: string } | { readonly paths: HomePaths },
  use: (shelf: TokenShelf) => Promise<T>,
): Promise<T> {
  if ("paths" in at) return use(fileShelf(at.paths.tokens));
  const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
  const { systemClock: clock } = await import("../../adapters/system/system-clock.ts");
  const { systemIds } = await import("../../adapters/system/system-ids.ts");
  const { tellChanged } = await import("../node/relay/relay-events.ts");
  const store = await openPostgresStore({ url: at.url });
  try {
    const done = await use(sharedShelf({ store, clock, ids: systemIds() }));
    // Gateways that run look again.
    tellChanged(store.relay, "tokens");
    return done;
  } finally {
    await store.close();
  }
}
