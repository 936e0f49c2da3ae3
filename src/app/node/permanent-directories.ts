/** The directories in which permanent agents have prompt files of their own. */
import { resolve } from "node:path";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Ports } from "../../core/ports/ports.ts";

const PAGE = 500;

export async function permanentDirectories(
  store: Pick<Ports["store"], "agentsOfKind">,
  workspaceOf: (profile: string) => string,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (let after: AgentRecord["id"] | undefined; ; ) {
    const page = await store.agentsOfKind("permanent", { limit: PAGE, after });
    for (const { descriptor, profile } of page)
      if (descriptor.type === "permanent" && descriptor.workspaceDir !== undefined)
        found.add(resolve(workspaceOf(profile), descriptor.workspaceDir));
    if (page.length < PAGE) return [...found];
    after = page.at(-1)?.id;
  }
}
