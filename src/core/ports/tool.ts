/**
 * The contract of a tool. A tool declares its input, what it may touch, whether it may be repeated after a crash, and how much
 * it may output; the loop validates, bounds and records (L4).
 */
import type { z } from "zod";
import type { AgentRecord } from "../agent/agent.ts";
import type { ProcessChange } from "../agent/background-process.ts";
import type { DeliveryContext, NewDelivery } from "../delivery/delivery.ts";
import type { Block, Untrusted } from "../history/entry.ts";
import type { AgentId, RunId } from "../ids.ts";
import type { Behalf } from "../people/behalf.ts";
import type { Effect } from "../rights/decide.ts";
import type { Right } from "../rights/right.ts";
import type { SkillLimit } from "../rights/skill-limits.ts";
import type { ReplayPolicy } from "../run/run.ts";
import type { Op } from "../store/change.ts";

export interface Tool<Input = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** The input as the model sees it, in JSON Schema. Absent: made from `input`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly rights: readonly Right[];
  readonly replay: ReplayPolicy;
  /** May run in parallel with other tools of the same turn that have this set. */
  readonly parallel: boolean;
  /** Its results contain text that the run's person did not write. Tools with the right `network` always do (M32). */
  readonly untrusted?: boolean;
  /** Characters of text that the model sees; the rest goes to a file. */
  readonly maxOutput: number;
  /** The present name of a tool that is called by an old one. Its rights are those of the present name. */
  readonly renamed?: string;
  /**
   * What a call is about to do besides using the tool: who it reaches, and what needs a right of its own. The gate judges it
   * before the call starts, so `execute` must do nothing that is not named here. It only reads.
   */
  effects?(input: Input, context: EffectContext): Promise<readonly Effect[]> | readonly Effect[];
  /** Whether a person must say yes to this call although the rights allow it. If it throws, it must. It only reads. */
  needsYes?(input: Input, context: EffectContext): Promise<boolean> | boolean;
  /** What a person who is asked about the call reads instead of its arguments: the difference it makes. A yes covers exactly that. It only reads. */
  preview?(input: Input, agent: AgentRecord): Promise<string | undefined>;
  /**
   * Whether this very call has had its effect already, before a crash: a record outside of the store says so. Then its used yes holds
   * although the world has changed, and `execute` only tells what was done.
   */
  made?(call: Pick<ToolContext, "runId" | "callId">): Promise<boolean>;
  /**
   * Failures may be thrown or returned as an error; both are a result the model sees. `SuspendedError`: nothing has happened
   * yet, the run is paused and the call is made again.
   */
  execute(input: Input, context: ToolContext): Promise<ToolOutput>;
}

/** What is known of a call before it starts. */
export type EffectContext = Pick<ToolContext, "agent" | "agentId" | "runId" | "callId" | "behalf" | "person">;

export interface ToolContext {
  /** The agent that called the tool, as it is now. */
  readonly agent: AgentRecord;
  readonly agentId: AgentId;
  readonly runId: RunId;
  /** As the model named the call: unique within the run only. */
  readonly callId: string;
  /**
   * The key for effects outside, such as payments. A uuid: the same for all retries of this call, including those after a crash,
   * and different from that of every other call of any agent in any store.
   */
  readonly effectKey: string;
  /** Where the run's answer goes, if anywhere. */
  readonly delivery?: DeliveryContext;
  /** The person the run works for, as `connector:id`, if known. */
  readonly person?: string;
  /** Who the run acts for, and who is on its way. Absent: the run began before this was recorded. */
  readonly behalf?: Behalf;
  /** No one waits for the run: a schedule or a hook began it. */
  readonly headless?: boolean;
  /** What the gate has allowed this call. Absent: nothing is judged here. */
  readonly allowed?: readonly Effect[];
  readonly signal: AbortSignal;
  /** Sends progress to listeners. Not durable. */
  progress(text: string): void;
}

export interface ToolOutput {
  readonly content: readonly Block[];
  readonly isError?: boolean;
  /** This result contains text that the run's person did not write; where it came from (M32). */
  readonly untrusted?: Untrusted;
  /** Changes of the store that are the tool's effect: committed together with its result (M12). */
  readonly ops?: readonly Op[];
  /** On whose behalf the words in it were said, if others said them: they are on the run's way from now on (M30). */
  readonly heard?: readonly Behalf[];
  /** Tools that the agent's model is sent from now on, in this session. Committed with the result. */
  readonly found?: readonly string[];
  /** Tools that the run is limited to from now on, with all others that narrow it. Committed with the result. */
  readonly narrows?: SkillLimit;
  /** Background processes that the call has started, or that need not be listed any more. Committed with the result (M33). */
  readonly processes?: ProcessChange;
  /** Sends that are the tool's effect, committed with its result. */
  readonly deliveries?: readonly Pick<NewDelivery, "target" | "payload">[];
}

/** The tools of an agent. `find` returns undefined for an unknown name. */
export interface ToolHost {
  list(agent: AgentRecord): readonly Tool[];
  /** Those of the list that its model is sent, if that has a window of so many tokens. Absent: all. */
  shown?(agent: AgentRecord, contextWindow: number): readonly Tool[];
  find(agent: AgentRecord, name: string): Tool | undefined;
  /** A tool by its name, for any agent, so that a call which is denied gets the reason. */
  known?(name: string): Tool | undefined;
}

export const DEFAULT_MAX_OUTPUT = 4_000;
