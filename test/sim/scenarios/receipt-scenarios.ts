/**
 * Channels that do not say at once whether a message arrived: one says it later, as the WhatsApp Cloud API does (L5, L12), one never,
 * so that people need a notice (M46).
 */
import { CALM_CHANNEL, CALM_STORE } from "../world/faults.ts";
import type { NamedChanges } from "./scenario.ts";

const SICK = { ...CALM_CHANNEL, shownUnknown: 0.2, hiddenUnknown: 0.08, retry: 0.05, duplicate: 0.3, redeliver: 0.3 };
const WORK = { messages: [40, 50], conversations: [4, 5], burst: [1, 3], pause: [100, 1_500] } as const;
const MORE_WORK = { ...WORK, messages: [50, 60], conversations: [5, 6] } as const;

export const RECEIPT_SCENARIOS: readonly NamedChanges[] = [
  [
    "receipts",
    "statuses that come late, twice, in any order, before the answer of the send, and after a crash",
    {
      ...{ crashes: [1, 5], classes: ["ambiguous"], receipts: true, channel: SICK },
      ...{ needs: ["receipts"], workload: WORK },
    },
  ],
  [
    "receipts-nodes",
    "the same on two nodes, either of which gets them, with commits whose outcome is unknown",
    {
      ...{ nodes: [2, 2], crashes: [1, 4], pauses: [0, 2], classes: ["ambiguous"], receipts: true, channel: SICK },
      store: { ...CALM_STORE, lost: 0.04, unanswered: 0.06, hangs: 0.02 },
      ...{ needs: ["receipts"], workload: WORK },
    },
  ],
  [
    "unconfirmed",
    "channels that often cannot say whether an answer arrived, and a node that dies around the notices about it",
    { crashes: [3, 8], classes: ["ambiguous", "reconcilable"], channel: SICK, needs: ["notices"], workload: MORE_WORK },
  ],
  [
    "unconfirmed-nodes",
    "the same on two nodes, for people who share one target, with commits whose outcome is unknown",
    {
      ...{ nodes: [2, 2], crashes: [1, 4], pauses: [0, 2], classes: ["ambiguous"], channel: SICK, order: "none" },
      store: { ...CALM_STORE, lost: 0.04, unanswered: 0.06, hangs: 0.02 },
      workload: { ...MORE_WORK, sharedTarget: true },
    },
  ],
];
