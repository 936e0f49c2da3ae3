/** What the tools that reach other agents know of the world: the store to look in, and the engine to ask through. */
import type { Config } from "../../../config/config-schema.ts";
import type { AgentRecord, AgentSeed } from "../../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { Diagnosis } from "../../../core/agent/diagnosis.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { MessageBody, MessageState } from "../../../core/message/message.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { FileStore } from "../../../core/ports/ports.ts";
import type { RunResult } from "../../../core/run/run.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";

export interface AgentToolDeps {
  readonly store: StoreReader;
  readonly clock: Pick<Clock, "now">;
  readonly files: FileStore;
  readonly config: Pick<Config, "agentToAgent" | "profiles" | "owner" | "session">;
  /** This shard's name and those of the others; absent where there is one store only. */
  readonly shards?: { readonly name: string; readonly others: readonly string[] };
  /** Whether an agent may start others that speak as this profile. */
  maySpawnAs(agent: AgentRecord, profile: string): boolean;
  /** What it takes to make an agent that is not there yet; who comes first is decided by the commit. */
  seed(
    descriptor: AgentDescriptor,
    profile: string,
    about?: { readonly id?: AgentId; readonly state?: Partial<AgentState> },
  ): AgentSeed;
  newAgentId(): AgentId;
  /** The agents the installation itself has, by their tags; each is made by its first message. */
  readonly systemAgents: readonly { readonly tag: string; readonly description: string }[];
  /** The permissions some tags stand for. Throws where one is not the agent's to give. */
  permissionsOf(tags: readonly string[], giver: AgentRecord): NonNullable<AgentState["permissions"]>;
  /** Makes a directory inside a profile's workspace. Throws where it would lie outside; nothing where none is named. */
  workspaceFor(profile: string, directory: string | undefined): Promise<string | undefined>;
  /** What is under way and what is stuck. */
  diagnose(): Promise<Diagnosis>;
  /** What takes a swarm's name back, with all its agents. Throws where there is none. */
  removeSwarm(nametag: string, by: string): Promise<readonly Op[]>;
  /** Posts a message and waits for the end of the run that takes it; again with the same key it waits for the same one. */
  ask(asking: Asking): Promise<Asked>;
}

export interface Asking {
  readonly from: AgentId;
  readonly to: { readonly agentId: AgentId } | { readonly descriptor: AgentDescriptor; readonly profile: string };
  readonly body: MessageBody;
  /** Makes a repeated question the same one, and names the wait: whoever asks ends it with `wait.end`. */
  readonly key: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What must become durable together with the question. */
  readonly also?: readonly Op[];
}

export interface Asked {
  readonly result: RunResult | undefined;
  /** What became of the message where no run answered it. */
  readonly ended?: { readonly state: MessageState; readonly reason?: string };
}
