/** Opens the way to other shards, where the configuration names any: their stores are opened when something first goes there. */

import { type OtherStore, shardConnector } from "../../adapters/connectors/shard/shard-connector.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Store } from "../../core/store/store.ts";
import { type Environment, fileText, postgresUrl } from "./shared-store-url.ts";

export function openShards(
  ports: Pick<Ports, "ids" | "clock">,
  { config, paths, env = {} }: { readonly config: Config; readonly paths: HomePaths; readonly env?: Environment },
): Connector | undefined {
  const { shard, shards } = config.store;
  if (Object.keys(shards).length === 0) return undefined;
  const opened = new Map<string, Promise<Store>>();
  const open = async (name: string): Promise<OtherStore | undefined> => {
    const secret = shards[name];
    if (!secret) return undefined;
    let store = opened.get(name);
    if (!store) {
      const url = postgresUrl(secret.reveal({ env, readFile: (path) => fileText(paths, path) }));
      store = openOther(url);
      opened.set(name, store);
      // One that could not be opened is tried again with the next message.
      store.catch(() => opened.delete(name));
    }
    return store;
  };
  const close = async (): Promise<void> => {
    const stores = await Promise.allSettled(opened.values());
    await Promise.all(stores.map((one) => (one.status === "fulfilled" ? one.value.close() : undefined)));
  };
  return shardConnector(ports, { name: shard, open, close });
}

async function openOther(url: string): Promise<Store> {
  const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
  return openPostgresStore({ url, maxConnections: 3, lanes: 1 });
}
