/**
 * Streams the tree of agents: what a returning reader missed, or the whole tree, and then every event. A reader who sees only some
 * agents gets the events of those (L13).
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { LiveTree } from "../../../engine/subagents/live-tree.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined, type Principal } from "../auth/principal.ts";
import { eventFrame } from "./event-stream-writer.ts";
import { openEventStream, type StreamContext, type StreamRequest } from "./open-event-stream.ts";
import type { TreeEvent, TreeEventLog } from "./tree-event-log.ts";

interface TreeStreamContext extends StreamContext {
  readonly ports: StreamContext["ports"] & { readonly store: Pick<StoreReader, "agent"> };
  readonly agents: StreamContext["agents"] & { readonly tree: Pick<LiveTree, "read"> };
  readonly treeEvents: TreeEventLog;
}

const MAX_AGENTS = 500;
const MAX_KNOWN = 10_000;

export async function streamTree(request: StreamRequest<TreeStreamContext>, lastEventId?: string): Promise<void> {
  const { context, principal } = request;
  const { agents, treeEvents } = context;
  const only = isConfined(principal) ? ownEvents(context.ports.store, principal) : undefined;
  const missed = treeEvents.after(lastEventId);
  // Events that arrive while the tree is read wait here, and are written after it.
  const waiting: TreeEvent[] = [...(missed ?? [])];
  let isLive = false;
  const { lastId } = treeEvents;
  const writer = openEventStream(request);
  const write = (event: TreeEvent, data: object): void =>
    writer.write(eventFrame(event.type, treeEvents.idOf(event), data));
  // Whose agent it is may have to be read: events keep their order.
  let tasks: Promise<void> = Promise.resolve();
  const pass = (event: TreeEvent): void => {
    if (!only) {
      write(event, event.data);
      return;
    }
    tasks = tasks
      .then(async () => {
        const data = await only(event.data);
        if (data) write(event, data);
      })
      .catch(() => writer.close("slow"));
  };
  writer.onClose(
    treeEvents.subscribe((event) => {
      if (isLive) pass(event);
      else waiting.push(event);
    }),
  );
  if (!missed) {
    const shows = only && ((agent: AgentRecord) => seesAgent(principal, agent));
    const tree = await agents.tree.read({ limit: MAX_AGENTS, shows });
    writer.write(eventFrame("tree", lastId, { type: "tree", ...tree }));
  }
  for (const event of waiting) pass(event);
  isLive = true;
}

/** An event as a confined reader gets it; undefined if it is about agents of others. */
function ownEvents(store: Pick<StoreReader, "agent">, principal: Principal) {
  const known = new Map<AgentId, boolean>();
  const isOwn = async (id: AgentId): Promise<boolean> => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const agent = await store.agent(id);
    const own = agent !== undefined && seesAgent(principal, agent);
    if (known.size >= MAX_KNOWN) known.clear();
    // An agent that is not there yet may be the reader's own.
    if (agent) known.set(id, own);
    return own;
  };
  return async (data: EventData): Promise<EventData | undefined> => {
    if (data.agentId !== undefined) return (await isOwn(data.agentId)) ? data : undefined;
    const own: AgentId[] = [];
    for (const id of data.agents ?? []) if (await isOwn(id)) own.push(id);
    return own.length > 0 || data.all ? { ...data, agents: own } : undefined;
  };
}

/** A `changed` names several agents, other events one. */
interface EventData {
  readonly agentId?: AgentId;
  readonly agents?: readonly AgentId[];
  readonly all?: boolean;
}
