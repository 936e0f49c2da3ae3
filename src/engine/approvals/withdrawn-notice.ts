/**
 * Tells people that a question which they may have seen needs no answer any more (M44). The row of the question says whether it
 * may have arrived, so the notice is found after a crash too, and comes once. Questions that were withdrawn together share a notice.
 */
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { type DueSweep, startDueSweep } from "../due-sweep.ts";
import { createDeliveries } from "../outbox/create-deliveries.ts";
import { questionLane } from "../outbox/question-lane.ts";

type NoticePorts = Pick<Ports, "store" | "ids" | "clock" | "log" | "connectors">;

interface NoticeHost {
  readonly shared: boolean;
  /** Called with a delivery that was just committed. */
  offer(delivery: NewDelivery): void;
}

const PORTION = 100;
const LATER_MS = 10_000;

export const startNoticeSweep = (ports: NoticePorts, host: NoticeHost): DueSweep =>
  startDueSweep(ports, {
    shared: host.shared,
    failed: "notices of withdrawn questions could not be sent; tried again later",
    laterMs: LATER_MS,
    sweep: async () => tellWithdrawn(ports, host),
  });

/** Several nodes may do this at the same time: a question has one notice. */
async function tellWithdrawn(ports: NoticePorts, { offer }: NoticeHost): Promise<undefined> {
  for (;;) {
    const untold = await ports.store.approvals({ untold: true, limit: PORTION });
    const groups = Map.groupBy(untold, ({ agentId, chat, reason }) =>
      JSON.stringify([agentId, chat && targetKey(chat), reason]),
    );
    let hasTold = false;
    for (const approvals of groups.values()) {
      const delivery = await noticeOf(ports, approvals);
      const ops = approvals.map(
        ({ id, agentId }, at): Op => ({ op: "approval.told", id, agentId, delivery: at === 0 ? delivery : undefined }),
      );
      const done = await submit(ports, "approval.told", ops);
      if (!done.ok) continue;
      hasTold = true;
      if (delivery) offer(delivery);
    }
    if (untold.length < PORTION || !hasTold) return;
  }
}

/** Undefined if the question was not sent to a chat. */
async function noticeOf(ports: NoticePorts, approvals: readonly Approval[]): Promise<NewDelivery | undefined> {
  const [first] = approvals;
  if (!first?.chat) return undefined;
  const { id, agentId, runId, behalf, askedAt, chat } = first;
  const agent = await ports.store.agent(agentId);
  const draft = {
    ...{ agentId, profile: agent?.profile, runId, ordinal: 0, at: ports.clock.now() },
    ...{ target: questionLane(chat), person: behalf.person, connectors: ports.connectors },
  };
  const [delivery] = createDeliveries(draft, { text: noticeText(approvals) });
  return delivery && { ...delivery, id: `withdrawn-${id}-${askedAt}` as DeliveryId };
}

/** More ids than this are only counted. */
const MAX_NAMED = 10;

function noticeText(approvals: readonly Pick<Approval, "id" | "tool" | "reason">[]): string {
  const [first] = approvals;
  const because = first?.reason === undefined ? "" : `: ${first.reason}`;
  if (approvals.length === 1) return `Approval ${first?.id} for ${first?.tool} is no longer needed${because}.`;
  const named = approvals.slice(0, MAX_NAMED).map(({ id }) => id);
  const more = approvals.length > MAX_NAMED ? ` and ${approvals.length - MAX_NAMED} more` : "";
  return `Approvals ${named.join(", ")}${more} are no longer needed${because}.`;
}
