/**
 * The first lines of a thread's agent. If its parent conversation exists, the thread begins with the parent's history up to
 * its last rest, and the two are separate from then on. This only prepares the seed; the commit that creates the agent
 * decides a race, so a race or a crash leaves one thread or none.
 */
import type { Settings } from "../../../config/settings.ts";
import type { AgentRecord, AgentSeed } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { resolveThreadParentSessionKey } from "../../../core/agent/session-key.ts";
import { inheritsParent } from "../../../core/agent/thread-settings.ts";
import { type Entry, entryLine } from "../../../core/history/entry.ts";
import { fileOf } from "../../../core/history/file-block.ts";
import type { SessionKey } from "../../../core/ids.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { kindOfPerson, type PersonId } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { readPath } from "../../context/context.ts";
import { seedAgent } from "../../context/seed-agent.ts";
import { forkFirstLines } from "../../context/transcript/fork.ts";
import { withSpeakers } from "../../people/run-behalf.ts";
import { isMarked, markedState } from "../../people/untrusted.ts";

interface NewAgent {
  readonly descriptor: AgentDescriptor;
  readonly profile: string;
  readonly sessionKey: SessionKey;
  /** The person it belongs to. */
  readonly person?: PersonId;
}

export async function seedFor(
  ports: Pick<Ports, "store" | "ids" | "clock">,
  { descriptor, profile, sessionKey, person }: NewAgent,
  { session }: Pick<Settings, "session">,
): Promise<AgentSeed> {
  const { store, ids, clock } = ports;
  const seed = { ...seedAgent(ids, descriptor, clock.now(), profile, sessionKey), person };
  const parentKey =
    isThread(descriptor) && inheritsParent(session.thread, descriptor) && resolveThreadParentSessionKey(sessionKey);
  const parent = parentKey ? await store.agentByKey(parentKey as SessionKey) : undefined;
  if (!parent) return seed;
  const { path } = await readPath(store, parent.id, parent.leaf);
  const lines = untilRest(parent, path).map(entryLine);
  const { sessionId, createdAt: at } = seed;
  const from = { agentId: parent.id, sessionId: parent.sessionId, lines };
  // The thread begins with the parent's words, so everyone who spoke there has spoken here (M30).
  // Its mark of untrusted text comes with them (M32).
  const own = markedState(seed.state, isMarked(parent.state)) ?? seed.state;
  const inherits = { ...own, speakers: parent.state.speakers };
  const state = withSpeakers(person, inherits, [heardFrom(parent)]);
  return {
    ...seed,
    holds: await filesOf(store, parent, path),
    state: state ?? inherits,
    ...forkFirstLines(ids, { descriptor, sessionId, at, parent: from }),
  };
}

/** The files of these entries that the parent itself refers to: a block that only claims to stand for a file gains nothing. */
async function filesOf(
  store: Pick<Ports["store"], "holdsFile">,
  { id }: AgentRecord,
  path: readonly Entry[],
): Promise<readonly string[] | undefined> {
  const named = path.flatMap((entry) =>
    entry.type === "message" ? entry.content.flatMap((block) => fileOf(block)?.id ?? []) : [],
  );
  const held: string[] = [];
  for (const file of new Set(named)) if (await store.holdsFile(id, file)) held.push(file);
  return held.length === 0 ? undefined : held;
}

/** A group speaks through its members, who are listed. */
const heardFrom = ({ person }: AgentRecord): { readonly behalf?: Behalf } =>
  person === undefined || kindOfPerson(person) === "group" ? {} : { behalf: { person } };

const isThread = (descriptor: AgentDescriptor): boolean =>
  descriptor.type === "user" && descriptor.threadId !== undefined;

/** The entries before the parent's open run. The parent answers that run itself; the thread must not answer it again. */
function untilRest({ runId }: AgentRecord, path: readonly Entry[]): readonly Entry[] {
  const open = path.findIndex((entry) => entry.type === "message" && runId !== undefined && entry.runId === runId);
  return open === -1 ? path : path.slice(0, open);
}
