/** The directories in which permanent agents have prompt files of their own. */
import { resolve } from "node:path";
import type { Ports } from "../../core/ports/ports.ts";

const MAX_PERMANENTS = 500;

export async function permanentDirectories(
  store: Pick<Ports["store"], "agentsOfKind">,
  workspaceOf: (profile: string) => string,
): Promise<readonly string[]> {
  const permanents = await store.agentsOfKind("permanent", { limit: MAX_PERMANENTS });
  return permanents.flatMap(({ descriptor, profile }) =>
    descriptor.type === "permanent" && descriptor.workspaceDir !== undefined
      ? [resolve(workspaceOf(profile), descriptor.workspaceDir)]
      : [],
  );
}
