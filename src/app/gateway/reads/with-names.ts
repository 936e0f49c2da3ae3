/** Adds names to the items of a list: of the agent, the person and the run that an item belongs to. Reads each of them once. */

import type { AgentRecord } from "../../../core/agent/agent.ts";
import { shortened } from "../../../core/cut-text.ts";
import type { Delivery } from "../../../core/delivery/delivery.ts";
import { PERSON_CHANNEL } from "../../../core/delivery/route.ts";
import { shownText } from "../../../core/message/message.ts";
import type { Approval } from "../../../core/rights/approval.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import { type NameReader, namerOf, namesById } from "../../../core/store/agent-names.ts";
import type { StoreReader } from "../../../core/store/store.ts";

/** `agentName` is absent if the agent is gone. Agents of one name get a suffix. */
export async function withAgentNames<Item extends { readonly agentId?: string }>(
  store: NameReader,
  items: readonly Item[],
): Promise<readonly (Item & { readonly agentName?: string })[]> {
  const names = await namesById(
    store,
    items.flatMap(({ agentId }) => agentId ?? []),
  );
  return items.map((item) => ({ ...item, agentName: item.agentId && names.get(item.agentId) }));
}

export async function withPersonNames<Item>(
  store: NameReader,
  items: readonly Item[],
  personOf: (item: Item) => string | undefined,
): Promise<readonly (Item & { readonly personName?: string })[]> {
  const namer = namerOf(store);
  return Promise.all(
    items.map(async (item) => {
      const person = personOf(item);
      return { ...item, personName: person === undefined ? undefined : await namer.person(person) };
    }),
  );
}

export const withApprovalNames = async <Item extends Pick<Approval, "agentId" | "behalf">>(
  store: NameReader,
  approvals: readonly Item[],
) => withPersonNames(store, await withAgentNames(store, approvals), ({ behalf }) => behalf.person);

/** Adds the name of the agent that wrote, and of the recipient. */
export const withDeliveryNames = async (store: NameReader, deliveries: readonly Delivery[]) =>
  withPersonNames(store, await withAgentNames(store, deliveries), ({ target: { channel, to } }) =>
    channel === undefined || to === undefined ? undefined : channel === PERSON_CHANNEL ? to : `${channel}:${to}`,
  );

const FIRST_WORDS = 60;

/** A run is called after its agent and the first words of what it works on; without words after its time. */
export async function withRunNames(
  store: NameReader & Pick<StoreReader, "message">,
  agent: AgentRecord,
  runs: readonly RunRecord[],
): Promise<readonly (RunRecord & { readonly agentName: string; readonly about: string })[]> {
  const agentName = await namerOf(store).name(agent);
  return Promise.all(
    runs.map(async (run) => {
      const [seq] = run.body.seqs;
      const message = seq === undefined ? undefined : await store.message(agent.id, seq);
      const words = message ? shownText(message.body).replace(/\s+/gu, " ").trim() : "";
      return { ...run, agentName, about: shortened(words, FIRST_WORDS) };
    }),
  );
}
