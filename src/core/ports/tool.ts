/**
 * The contract of a tool. A tool says what it takes, what it may do, whether it may be repeated after a crash and how
 * much it may say; the loop validates, bounds and records (L4).
 */
import type { z } from "zod";
import type { AgentRecord } from "../agent/agent.ts";
import type { DeliveryContext, NewDelivery } from "../delivery/delivery.ts";
import type { Block } from "../history/entry.ts";
import type { AgentId, RunId } from "../ids.ts";
import type { ReplayPolicy } from "../run/run.ts";
import type { Op } from "../store/change.ts";

/** What a tool may touch. Granted by the profile and the agent's permissions, never by the model. */
export type Right = "read" | "write" | "network" | "exec" | "send" | "spawn" | "schedule";

export interface Tool<Input = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly rights: readonly Right[];
  readonly replay: ReplayPolicy;
  /** May run beside other tools of the same turn that also say so. */
  readonly parallel: boolean;
  /** Characters of text the model is shown; the rest goes to a file. */
  readonly maxOutput: number;
  /** Failures may be thrown or returned as an error; both are a result the model sees. */
  execute(input: Input, context: ToolContext): Promise<ToolOutput>;
}

export interface ToolContext {
  /** Whom the tool works for, as it is now. */
  readonly agent: AgentRecord;
  readonly agentId: AgentId;
  readonly runId: RunId;
  /** Stable over retries of the same call: the key for whatever a tool does outside. */
  readonly callId: string;
  /** Where the run's answer goes, if anywhere. */
  readonly delivery?: DeliveryContext;
  /** Whom the run works for, as `connector:id`, where somebody is known. */
  readonly person?: string;
  readonly signal: AbortSignal;
  /** Tells listeners how far the tool is. Not durable. */
  progress(text: string): void;
}

export interface ToolOutput {
  readonly content: readonly Block[];
  readonly isError?: boolean;
  /** Changes of the store that are the tool's effect: committed together with its result (M12). */
  readonly ops?: readonly Op[];
  /** Sends that are the tool's effect, owed in its own step. */
  readonly deliveries?: readonly Pick<NewDelivery, "target" | "payload">[];
}

/** The tools an agent has. `find` gives undefined for a name nobody knows. */
export interface ToolHost {
  list(agent: AgentRecord): readonly Tool[];
  find(agent: AgentRecord, name: string): Tool | undefined;
}

export const DEFAULT_MAX_OUTPUT = 4_000;
