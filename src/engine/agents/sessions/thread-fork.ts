/**
 * The first lines of a thread's agent. If its parent conversation exists, the thread begins with the parent's history up to
 * its last rest, and the two are separate from then on. This only prepares the seed; the commit that creates the agent
 * decides a race, so a race or a crash leaves one thread or none.
 */
import type { AgentRecord, AgentSeed } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { resolveThreadParentSessionKey } from "../../../core/agent/session-key.ts";
import { type Entry, entryLine } from "../../../core/history/entry.ts";
import type { SessionKey } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { readPath } from "../../context/context.ts";
import { seedAgent } from "../../context/seed-agent.ts";
import { forkFirstLines } from "../../context/transcript/fork.ts";

export interface NewAgent {
  readonly descriptor: AgentDescriptor;
  readonly profile: string;
  readonly sessionKey: SessionKey;
}

/** Whether a thread of this conversation begins with its parent's context. */
export type InheritsParent = (descriptor: AgentDescriptor) => boolean;

export async function seedFor(
  ports: Pick<Ports, "store" | "ids" | "clock">,
  { descriptor, profile, sessionKey }: NewAgent,
  inheritsParent: InheritsParent = () => true,
): Promise<AgentSeed> {
  const { store, ids, clock } = ports;
  const seed = seedAgent(ids, descriptor, clock.now(), profile, sessionKey);
  const parentKey = isThread(descriptor) && inheritsParent(descriptor) && resolveThreadParentSessionKey(sessionKey);
  const parent = parentKey ? await store.agentByKey(parentKey as SessionKey) : undefined;
  if (!parent) return seed;
  const { path } = await readPath(store, parent.id, parent.leaf);
  const lines = untilRest(parent, path).map(entryLine);
  const { sessionId, createdAt: at } = seed;
  const from = { agentId: parent.id, sessionId: parent.sessionId, lines };
  return { ...seed, ...forkFirstLines(ids, { descriptor, sessionId, at, parent: from }) };
}

const isThread = (descriptor: AgentDescriptor): boolean =>
  descriptor.type === "user" && descriptor.threadId !== undefined;

/** The entries before the parent's open run. The parent answers that run itself; the thread must not answer it again. */
function untilRest({ runId }: AgentRecord, path: readonly Entry[]): readonly Entry[] {
  const open = path.findIndex((entry) => entry.type === "message" && runId !== undefined && entry.runId === runId);
  return open === -1 ? path : path.slice(0, open);
}
