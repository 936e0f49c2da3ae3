/** What the tools for other agents need: the store to read, and the engine to ask through. */
import type { Settings } from "../../../config/settings.ts";
import type { AgentRecord, AgentSeed } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { Diagnosis } from "../../../core/agent/diagnosis.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import type { Current } from "../../../core/current.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { MessageBody, MessageState } from "../../../core/message/message.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { FileStore, Ports } from "../../../core/ports/ports.ts";
import type { RunResult } from "../../../core/run/run.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { AgentSystem } from "../../../engine/agents/agent-system.ts";
import { removeSwarmOps } from "../../../engine/agents/remove-swarm.ts";
import { systemAgentsOf } from "../../../engine/agents/system-agents.ts";
import { seedAgent } from "../../../engine/context/seed-agent.ts";
import { permissionsOf } from "../../../engine/subagents/permissions.ts";
import { allowedAgents } from "../../../engine/subagents/settings.ts";

type AgentToolSettings = Pick<
  Settings,
  "agentToAgent" | "profiles" | "owner" | "identity" | "session" | "subagents" | "systemAgents"
>;

export interface AgentToolDeps {
  readonly store: StoreReader;
  readonly clock: Pick<Clock, "now">;
  readonly files: FileStore;
  readonly settings: Current<AgentToolSettings>;
  /** This shard's name and the others'. Absent: there is one store only. */
  readonly shards?: { readonly name: string; readonly others: readonly string[] };
  /** Whether an agent may start agents with this profile. */
  maySpawnAs(agent: AgentRecord, profile: string): boolean;
  /** The data to create an agent. If two calls create the same one, the commit decides which is first. */
  seed(
    descriptor: AgentDescriptor,
    profile: string,
    about?: { readonly id?: AgentId; readonly state?: Partial<AgentState> },
  ): AgentSeed;
  newAgentId(): AgentId;
  /** The installation's own agents, by tag. The first message creates one. */
  systemAgents(): readonly { readonly tag: string; readonly description: string }[];
  /** The permissions of some tags. Throws if the giver does not have one of them. */
  permissionsOf(tags: readonly string[], giver: AgentRecord): NonNullable<AgentState["permissions"]>;
  /** Creates a directory inside a profile's workspace. Throws if it would be outside. Undefined for no directory. */
  workspaceFor(profile: string, directory: string | undefined): Promise<string | undefined>;
  /** What is active and what is stuck. */
  diagnose(): Promise<Diagnosis>;
  /** The ops that remove a swarm with all its agents. Throws if there is none. */
  removeSwarm(nametag: string, by: string): Promise<readonly Op[]>;
  /** Posts a message and waits for the end of its run. A repeated call with the same key waits for the same message. */
  ask(request: AskRequest): Promise<AskResult>;
}

interface AskRequest {
  readonly from: AgentId;
  readonly to: { readonly agentId: AgentId } | { readonly descriptor: AgentDescriptor; readonly profile: string };
  readonly body: MessageBody;
  /** Identifies a repeated request and its wait. The caller ends the wait with the op `wait.end`. */
  readonly key: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Committed together with the message. */
  readonly also?: readonly Op[];
}

export interface AskResult {
  readonly result: RunResult | undefined;
  /** How the message ended if no run answered it. */
  readonly ended?: { readonly state: MessageState; readonly reason?: string };
}

/** How long a repeated question finds the first one, after a crash of the run that asked. */
const REPLAY_MS = 7 * 24 * 3600_000;

interface AgentToolParts extends Pick<Ports, "store" | "clock" | "ids" | "files"> {
  readonly settings: AgentToolDeps["settings"];
  /** Called when a tool runs, never before. */
  readonly system: () => AgentSystem;
  readonly workspaceFor?: AgentToolDeps["workspaceFor"];
  readonly shards?: AgentToolDeps["shards"];
}

export function agentToolDepsOf(parts: AgentToolParts): AgentToolDeps {
  const { store, clock, ids, files, settings, system } = parts;
  return {
    store,
    clock,
    files,
    settings,
    shards: parts.shards,
    systemAgents: () =>
      [...systemAgentsOf(settings.current).values()].map(({ tag, description }) => ({ tag, description })),
    maySpawnAs(agent, profile) {
      const listed = allowedAgents(settings.current, agent.profile);
      return listed.includes("*") || listed.includes(profile);
    },
    workspaceFor: parts.workspaceFor ?? (async () => undefined),
    permissionsOf: (tags, { state }) => permissionsOf(tags, state.permissions),
    newAgentId: () => ids.agent(),
    seed(descriptor, profile, about = {}) {
      const seed = seedAgent(ids, descriptor, clock.now(), profile);
      return { ...seed, id: about.id ?? seed.id, state: { ...seed.state, ...about.state } };
    },
    ask: ({ from, to, body, key, timeoutMs, signal, also }) =>
      system().postAndAwait(
        { to, body, key, replayHorizonMs: REPLAY_MS, also },
        { from, timeoutMs, signal, edge: key, sinceAccepted: true },
      ),
    removeSwarm: (nametag, by) => removeSwarmOps(store, nametag, by, clock.now()),
    diagnose: () => system().diagnose(),
  };
}
