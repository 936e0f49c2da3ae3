/** Opens the minted tokens of a home for one use. */
import type { HomePaths } from "../../config/paths.ts";
import { silentLog } from "../../core/ports/log.ts";
import { TokenService } from "../gateway/auth/token-service.ts";
import { sharedStoreOf } from "./read-home.ts";
import { withTokenStorage } from "./with-token-storage.ts";

export async function withTokens<T>(paths: HomePaths, use: (service: TokenService) => Promise<T> | T): Promise<T> {
  const url = await sharedStoreOf(paths);
  return withTokenStorage(url === undefined ? { paths } : { url }, async (storage) =>
    use(await TokenService.open({ storage, now: () => Date.now(), log: silentLog })),
  );
}
