/** Streams the tree of agents: what a returning reader missed, or the whole tree, and then every event. */
import type { LiveTree } from "../../../engine/subagents/live-tree.ts";
import { eventFrame, type Frame } from "./event-stream-writer.ts";
import { openEventStream, type StreamContext, type StreamRequest } from "./open-event-stream.ts";
import type { TreeEvent, TreeEventLog } from "./tree-event-log.ts";

interface TreeStreamContext extends StreamContext {
  readonly agents: StreamContext["agents"] & { readonly tree: Pick<LiveTree, "read"> };
  readonly treeEvents: TreeEventLog;
}

const MAX_AGENTS = 500;

export async function streamTree(request: StreamRequest<TreeStreamContext>, lastEventId?: string): Promise<void> {
  const { agents, treeEvents } = request.context;
  const missed = treeEvents.after(lastEventId);
  // Events that arrive while the tree is read wait here, and are written after it.
  const waiting: TreeEvent[] = [...(missed ?? [])];
  let isLive = false;
  const frameOf = (event: TreeEvent): Frame => eventFrame(event.type, treeEvents.idOf(event), event.data);
  const { lastId } = treeEvents;
  const writer = openEventStream(request);
  writer.onClose(
    treeEvents.subscribe((event) => {
      if (isLive) writer.write(frameOf(event));
      else waiting.push(event);
    }),
  );
  if (!missed) {
    const tree = await agents.tree.read({ limit: MAX_AGENTS });
    writer.write(eventFrame("tree", lastId, { type: "tree", ...tree }));
  }
  for (const event of waiting) writer.write(frameOf(event));
  isLive = true;
}
