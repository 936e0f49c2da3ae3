/** How lines of standard input end, by the node of this process. */
import { readLineEnd, seqOf } from "../../adapters/connectors/stdin/line-end.ts";
import type { LineEnds } from "../../adapters/connectors/stdin/stdin-connector.ts";
import type { RookeryNode } from "../node/open-node.ts";

/** A line waits as long as its run takes. */
const WAIT_MS = 365 * 86_400_000;

/** `node`: resolves when it is open, which may be after the first line was read. */
export const lineEndsOf = (node: Promise<Pick<RookeryNode, "agents" | "ports">>): LineEnds => ({
  async settled(line) {
    const { agents } = await node;
    await agents.waitForMessage({ agentId: line.agentId, seq: seqOf(line) }, WAIT_MS);
  },
  async read(line) {
    return readLineEnd((await node).ports.store, line);
  },
});
