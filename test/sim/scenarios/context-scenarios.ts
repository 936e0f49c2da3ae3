/** Contexts that grow past their limits: all kinds of summaries, flushes, resets and messages in between. */

import type { SimContext } from "../world/summariser.ts";
import { MANNERS } from "../world/summariser.ts";
import type { Changes, NamedChanges } from "./scenario.ts";

const ROOM: SimContext = { window: 700, manners: ["good"], flush: false };

/** Few people with long messages: about ten messages fill a context. */
const talk = (context: Partial<SimContext>, changed: Changes = {}): Changes => ({
  crashes: [1, 4],
  needs: ["context", "tools", ...(changed.needs ?? [])],
  ...changed,
  context: { ...ROOM, ...context },
  workload: {
    conversations: [5, 5],
    padding: [30, 90],
    directives: { silent: 0.03, "tool:safe": 0.1, "tool:never": 0.1, "fail:transient": 0.03 },
    ...changed.workload,
  },
});

export const CONTEXT_SCENARIOS: readonly NamedChanges[] = [
  ["compaction", "contexts are summarised repeatedly, by a node that dies at any point", talk({})],
  [
    "compaction-nodes",
    "contexts are summarised on two nodes, one of them paused or dead",
    talk({ manners: ["good", "slow"] }, { nodes: [2, 2], pauses: [1, 3] }),
  ],
  [
    "bad-summaries",
    "a model that writes empty or too long summaries, continues the conversation, or fails",
    talk({ manners: MANNERS }),
  ],
  [
    "big-contexts",
    "tools whose long outputs must be cut, and a model that writes no summaries",
    talk(
      { window: 2_200, manners: ["empty", "request", "good"] },
      { workload: { padding: [10, 30], directives: { "tool:big": 0.25, "tool:never": 0.1 } } },
    ),
  ],
  ["no-summaries", "a model that never writes a usable summary", talk({ manners: ["empty", "continues", "bloats"] })],
  [
    "compaction-resets",
    "people who reset, stop and ask for a summary while one is being written",
    talk(
      { manners: ["good", "slow", "slow"] },
      {
        needs: ["commands"],
        ends: ["failed", "aborted", "recorded"],
        workload: { resets: [3, 6], stops: [1, 4], compacts: [3, 6] },
      },
    ),
  ],
  [
    "compaction-steering",
    "messages that steer a run while it compacts",
    talk(
      { window: 1_300, manners: ["good", "slow"] },
      {
        nodes: [1, 2],
        needs: ["queue-modes"],
        order: "route",
        queue: { mode: "steer-backlog", debounceMs: 200, cap: 50 },
        // One run takes up every message that comes while it works, and each may call a slow tool.
        runMs: 300_000,
        workload: { burst: [2, 6], directives: { slow: 0.1, "tool:slow": 0.1, "tool:safe": 0.2 } },
      },
    ),
  ],
  [
    "overflows",
    "a provider with a small window that the program does not know: it refuses some contexts every time",
    talk(
      { window: 500, unknown: true, manners: ["good", "empty"] },
      { needs: ["model-errors"], workload: { exactly: { overflow: [2, 5] } } },
    ),
  ],
  [
    "long-runs",
    "runs that read several windows of pages, with good and bad summaries, on nodes that die in between",
    talk(
      { window: 2_400, manners: ["good", "good", "bloats", "empty", "request"], fits: true },
      {
        crashes: [2, 6],
        drains: [0, 2],
        workload: {
          messages: [20, 26],
          padding: [10, 30],
          directives: { "tool:pages": 0.15, "tool:never": 0.1, "tool:safe": 0.1 },
        },
      },
    ),
  ],
  [
    "flush",
    "agents that flush memory before their contexts are compacted, on nodes that die during the flush",
    talk({ manners: ["good", "slow"], flush: true }, { crashes: [2, 6] }),
  ],
  [
    "background",
    "messages, resets and requests for a summary while one is written in the background, on one node and on two",
    talk(
      { window: 1_000, manners: ["slow", "slow", "good", "empty"], flush: true },
      {
        nodes: [1, 2],
        drains: [0, 2],
        needs: ["commands"],
        ends: ["failed", "aborted", "recorded"],
        workload: { resets: [2, 5], compacts: [1, 4], pause: [300, 4_000] },
      },
    ),
  ],
];
