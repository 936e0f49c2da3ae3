/**
 * What `rookery status` shows, for the owner: the model, today's cost, what works, what failed, what comes next and what waits. Needs
 * the store and the configuration, not an engine, and reads from indexes of open work only.
 */
import type { Config } from "../../../config/config-schema.ts";
import { addressFor } from "../../../core/agent/address.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Approval } from "../../../core/rights/approval.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { DescribedModel } from "../../node/describe-model.ts";
import type { BusyItem } from "../schemas/status.ts";
import { agentSummaries, type agentSummary } from "./agent-list.ts";
import { readStatusParts, type StatusParts } from "./status-parts.ts";

export interface StatusSources {
  readonly store: StoreReader;
  readonly now: number;
  /** When today began. */
  readonly midnight: number;
  readonly config: Config;
  readonly connectors: Ports["connectors"];
  describe(conversation: Pick<AgentRecord, "profile"> & { readonly agent?: AgentRecord }): Promise<DescribedModel>;
}

export interface Status extends DescribedModel, StatusParts {
  /** The name of the owner at the terminal. */
  readonly terminal: string;
  readonly today: { readonly tokens: number; readonly dollars: number };
  /** How many agents are at work, and the first of them. */
  readonly working: number;
  readonly busy: readonly BusyItem[];
  readonly undelivered: number;
  readonly approvals: readonly Approval[];
}

const LISTED = 50;
const ASKED = 100;
const DAY_MS = 24 * 3_600_000;
const OWNER_NAME = "owner";

export async function readStatus(sources: StatusSources): Promise<Status> {
  const { store, now, midnight, config } = sources;
  const address = addressFor({ connector: TERMINAL_CHANNEL, userId: OWNER_NAME, channelId: OWNER_NAME }, config);
  const agent = await store.agentByKey(address.sessionKey);
  const [described, used, counts, busy, approvals] = await Promise.all([
    sources.describe({ agent, profile: agent?.profile ?? address.profile }),
    store.usageSince(midnight),
    store.workCounts(now - DAY_MS),
    store.busyAgents({ limit: LISTED }),
    store.approvals({ limit: ASKED, states: ["pending"] }),
  ]);
  return {
    terminal: OWNER_NAME,
    ...described,
    today: {
      tokens: used.reduce((sum, { tokens }) => sum + tokens, 0),
      dollars: used.reduce((sum, { cost }) => sum + cost, 0),
    },
    working: counts.busy,
    busy: (await agentSummaries(store, busy)).map(busyItem),
    undelivered: counts.undelivered,
    approvals,
    ...(await readStatusParts(sources, counts)),
  };
}

function busyItem({ id, sessionKey, kind, name, waiting }: Awaited<ReturnType<typeof agentSummary>>): BusyItem {
  return { agentId: id, sessionKey, kind, name, waiting };
}
