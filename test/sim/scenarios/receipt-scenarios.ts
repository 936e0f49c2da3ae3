/** A channel that takes a message and says later what became of it, as the WhatsApp Cloud API does (L5, L12). */
import { CALM_CHANNEL, CALM_STORE } from "../world/faults.ts";
import type { NamedChanges } from "./scenario.ts";

const SICK = { ...CALM_CHANNEL, shownUnknown: 0.2, hiddenUnknown: 0.08, retry: 0.05, duplicate: 0.3, redeliver: 0.3 };
const WORK = { messages: [40, 50], conversations: [4, 5], burst: [1, 3], pause: [100, 1_500] } as const;

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
];
