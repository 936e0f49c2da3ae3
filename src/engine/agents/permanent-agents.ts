/**
 * The permanent agents that every prompt lists. Read by kind, not from all agents, and kept for two seconds, so that runs
 * that begin together share one read. A permanent agent that another node creates is listed after that time.
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { PermanentAgent } from "../context/prompt/system-prompt.ts";

const FRESH_MS = 2_000;
const PAGE = 100;
/** More than fit into a prompt; the oldest are listed. */
const MAX_LISTED = 500;

export interface PermanentAgents {
  /** Sorted by name. */
  list(): Promise<readonly PermanentAgent[]>;
  /** A permanent agent was created or changed here: the next call reads again. */
  forget(): void;
}

export function permanentAgentsOf(
  store: Pick<StoreReader, "agentsOfKind">,
  clock: Pick<Clock, "monotonic">,
): PermanentAgents {
  let known: { readonly at: number; readonly list: Promise<readonly PermanentAgent[]> } | undefined;
  return {
    list() {
      const now = clock.monotonic();
      if (!known || now - known.at >= FRESH_MS) {
        const reading = { at: now, list: read(store) };
        // A failed read is not kept.
        reading.list.catch(() => {
          if (known === reading) known = undefined;
        });
        known = reading;
      }
      return known.list;
    },
    forget() {
      known = undefined;
    },
  };
}

async function read(store: Pick<StoreReader, "agentsOfKind">): Promise<readonly PermanentAgent[]> {
  const agents: PermanentAgent[] = [];
  let last: AgentRecord | undefined;
  do {
    const page: readonly AgentRecord[] = await store.agentsOfKind("permanent", { limit: PAGE, after: last?.id });
    for (const { id, descriptor, stopped } of page) {
      if (descriptor.type !== "permanent" || stopped) continue;
      const { name, description, username } = descriptor;
      agents.push({ id, name, description, username });
    }
    last = page.length < PAGE ? undefined : page.at(-1);
  } while (last && agents.length < MAX_LISTED);
  return agents.slice(0, MAX_LISTED).sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}
