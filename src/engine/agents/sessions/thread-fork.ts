/**
 * The first lines of a thread's agent. Where its parent conversation exists, the thread begins with what was said there up
 * to the parent's last rest, and goes its own way from then on. Only read and prepared here: who comes first is decided by
 * the commit that makes the agent, so a race or a crash leaves one thread or none.
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

/** Whether threads of this conversation begin with their parent's context. */
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

/** What the parent is working on now is answered there: the thread must not answer it once more. */
function untilRest({ runId }: AgentRecord, path: readonly Entry[]): readonly Entry[] {
  const open = path.findIndex((entry) => entry.type === "message" && runId !== undefined && entry.runId === runId);
  return open === -1 ? path : path.slice(0, open);
}
