/** The kept changes of a home that has no database yet, such as one that was only set up. They are files, so no engine is needed. */
import { existsSync } from "node:fs";
import type { FileChanges } from "../../adapters/workspace/changes/file-changes.ts";
import type { CommandContext } from "./command.ts";

/** Undefined if there is a database: then the engine is asked. */
export async function changesWithoutStore({
  paths,
  env,
  loadConfig,
}: CommandContext): Promise<Pick<FileChanges, "list"> | undefined> {
  if (existsSync(paths.database)) return undefined;
  const { config } = await loadConfig();
  const { sharedStoreUrl } = await import("../../adapters/store/shared-store-url.ts");
  if (sharedStoreUrl(paths, config, env) !== undefined) return undefined;
  const { nodeChanges } = await import("../node/node-changes.ts");
  const { systemClock: clock } = await import("../../adapters/system/system-clock.ts");
  return nodeChanges({ settings: { current: config }, paths, clock, env });
}
