/** Files that come with messages, and uploads that no message ever names, on nodes that die in between (M34). */
import type { NamedChanges } from "./scenario.ts";

const WORK = {
  messages: [40, 60],
  conversations: [4, 5],
  burst: [1, 3],
  pause: [100, 2_000],
  directives: { file: 0.5, "file:unused": 0.3, "tool:safe": 0.1 },
} as const;

/** Room for a few files of each person; the rest is refused, and the message comes without. */
const files = { quotaBytes: 2_000 };

export const FILE_SCENARIOS: readonly NamedChanges[] = [
  [
    "files",
    "people who send files, also more than their quota, to a node that dies between the bytes, the row and the message",
    { nodes: [1, 1], crashes: [4, 9], files, needs: ["files"], workload: WORK },
  ],
  [
    "files-nodes",
    "the same on two nodes that sweep at the same time, with commits whose outcome is unknown",
    {
      ...{ nodes: [2, 2], crashes: [2, 5], pauses: [0, 2], drains: [0, 2] },
      files,
      needs: ["files"],
      workload: WORK,
    },
  ],
];
