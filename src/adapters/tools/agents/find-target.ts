/**
 * Finds the agent that a tool's argument names: an id, a session key, `main`, `heartbeat`, a permanent agent's name, a system
 * agent's tag, a child's name. Each is a lookup by key; no list of all agents is read.
 */
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { buildAgentMainSessionKey, permanentKey, sessionKeyOf } from "../../../core/agent/session-key.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { isAgentId, type SessionKey } from "../../../core/ids.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";

/** An existing agent, or one that the first message creates. */
export type Target =
  | { readonly agent: AgentRecord }
  | {
      readonly agent?: undefined;
      readonly descriptor: AgentDescriptor;
      readonly profile: string;
      readonly sessionKey: SessionKey;
    };

export const keyOf = (target: Target): SessionKey => (target.agent ? target.agent.sessionKey : target.sessionKey);

const MAX_CHILDREN = 200;

export async function findTarget(deps: AgentToolDeps, from: AgentRecord, written: string): Promise<Target> {
  const name = written.trim();
  if (name === "") throw new InvalidInputError("An agent's id, name or session key is needed.");
  const agent = (await byAddress(deps, from, name)) ?? (await permanentNamed(deps, from, name));
  if (agent) return { agent };
  const system = await systemTagged(deps, from, name);
  if (system) return system;
  const child = await childNamed(deps, from, name);
  if (child) return { agent: child };
  throw new NotFoundError(`Agent not found: ${name}`, { hint: "sessions_list and agents_list list the agents." });
}

async function byAddress({ store, settings }: AgentToolDeps, from: AgentRecord, name: string) {
  if (isAgentId(name)) {
    const agent = await store.agent(name);
    if (agent && !agent.stopped?.removed) return agent;
  }
  const { mainKey } = settings.current.session;
  if (name === "main")
    return store.agentByKey(buildAgentMainSessionKey({ agentId: from.profile, mainKey }) as SessionKey);
  if (name === "heartbeat") {
    return (await store.agentByKey(sessionKeyOf({ type: "heartbeat" }, from.profile))) ?? store.agentFor("heartbeat");
  }
  return name.includes(":") && !name.startsWith("system:") ? store.agentByKey(name as SessionKey) : undefined;
}

/** A system agent by its tag, with or without `system:`. The first message creates it. */
async function systemTagged({ store, systemAgents }: AgentToolDeps, from: AgentRecord, name: string) {
  const explicit = /^system:(.*)$/u.exec(name)?.[1];
  const tag = explicit ?? name.toLowerCase();
  if (!systemAgents().some((one) => one.tag === tag)) {
    if (explicit === undefined) return undefined;
    throw new NotFoundError(`Unknown system agent tag: ${explicit}`);
  }
  const descriptor = { type: "system", tag } as const;
  const sessionKey = sessionKeyOf(descriptor, from.profile);
  const agent = await store.agentByKey(sessionKey);
  return agent ? { agent } : { descriptor, profile: from.profile, sessionKey };
}

/** No agent has a longer name. */
const MAX_NAME = 1_000;

/** A permanent agent of the same profile, otherwise of another one. */
export async function permanentNamed(
  { store, settings }: Pick<AgentToolDeps, "store" | "settings">,
  from: Pick<AgentRecord, "profile">,
  name: string,
): Promise<AgentRecord | undefined> {
  if (name.length > MAX_NAME) return undefined;
  const profiles = new Set([from.profile, DEFAULT_PROFILE, ...Object.keys(settings.current.profiles)]);
  for (const profile of profiles) {
    const agent = await store.agentByKey(permanentKey(name, profile));
    // An agent that is being removed does not count.
    if (agent && !agent.stopped?.removing) return agent;
  }
  return undefined;
}

async function childNamed({ store }: AgentToolDeps, from: AgentRecord, name: string) {
  const children = await store.children(from.id, { limit: MAX_CHILDREN });
  return children.find(
    ({ descriptor, state }) => state.label === name || (descriptor.type === "subagent" && descriptor.name === name),
  );
}
