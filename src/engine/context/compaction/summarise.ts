/**
 * Asks a model for the summary that a plan needs: in portions if the conversation is larger than the model's window, and
 * separately for the beginning of a cut turn. Errors follow the same rules as in every model call. Throws only
 * `CommitRefused`, if a reservation could not be committed. An answer that is not a summary is rejected.
 */

import { errorText } from "../../../core/errors.ts";
import type { Usage } from "../../../core/history/entry.ts";
import type { AgentId } from "../../../core/ids.ts";
import { sleep } from "../../../core/ports/clock.ts";
import type { ModelChoice, ModelErrorClass, ModelRequest, ModelResult } from "../../../core/ports/model.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Permission, Permit } from "../../budgets/budget-gate.ts";
import { noAnswer, waitBefore } from "../../runtime/model-call.ts";
import { addUsage } from "../../runtime/usage.ts";
import { modelMessage } from "../context.ts";
import { withoutCarried } from "./carried-along.ts";
import type { Summarised } from "./make-compaction.ts";
import type { CompactionPlan } from "./plan-compaction.ts";
import { conversationChunks } from "./serialise.ts";
import { isSummary, SUMMARY_SYSTEM_PROMPT, type SummaryAsk, summaryRequest } from "./summary-prompt.ts";

interface Summarising {
  readonly agentId: AgentId;
  readonly choice: ModelChoice;
  readonly sessionId: string;
  readonly plan: CompactionPlan;
  /** The window of the model that summarises. */
  readonly contextWindow: number;
  readonly instructions?: string;
  readonly signal: AbortSignal;
  /** Called before every model call, if spending is limited. */
  readonly gate?: SpendingGate;
  /** The call fails instead of waiting longer than this. */
  readonly patienceMs: number;
}

/** Reserves what a call may cost and settles it; may throw `CommitRefused`. */
interface SpendingGate {
  before(request: ModelRequest): Promise<Permission>;
  after(permit: Permit, result: ModelResult): void;
}

export type SummaryFailure = ModelErrorClass | "empty" | "no-summary";

type SummaryOutcome =
  | { readonly ok: true; readonly said: Summarised }
  | { readonly ok: false; readonly why: SummaryFailure; readonly reason: string; readonly usage?: Usage };

/** The share of a window that one portion may fill: the earlier summary and the new one need room too. */
const CHUNK_SHARE = 0.4;
/** How often the portions are halved after the model refused one as too large. */
const SMALLER = 2;

type SummaryPorts = Pick<Ports, "model" | "clock" | "log">;

export async function summarise(ports: SummaryPorts, asked: Summarising): Promise<SummaryOutcome> {
  let spent: Usage | undefined;
  for (let share = CHUNK_SHARE, halved = 0; ; share /= 2, halved++) {
    const outcome = await inPortions(ports, asked, Math.floor(asked.contextWindow * share), spent);
    if (outcome.ok || outcome.why !== "overflow" || halved >= SMALLER) return outcome;
    spent = outcome.usage;
  }
}

/** `spent`: by earlier attempts; part of what the outcome reports. */
async function inPortions(
  ports: SummaryPorts,
  asked: Summarising,
  chunkTokens: number,
  spent: Usage | undefined,
): Promise<SummaryOutcome> {
  const { agentId, plan, instructions } = asked;
  const messagesOf = (entries: CompactionPlan["history"]) => entries.flatMap((entry) => modelMessage(agentId, entry));
  let usage = spent;
  let by = { provider: "", model: asked.choice.model };
  let failure: SummaryOutcome | undefined;

  const write = async (ask: SummaryAsk): Promise<string | undefined> => {
    for (const again of [false, true]) {
      const result = await call(ports, asked, summaryRequest({ ...ask, again }));
      usage = addUsage(usage, result.usage);
      by = { provider: result.provider, model: result.model };
      const text = result.content
        .flatMap((block) => (block.type === "text" ? [block.text] : []))
        .join("")
        .trim();
      if (result.error) failure = { ok: false, why: result.error.class, reason: result.error.message, usage };
      else if (text === "") failure = { ok: false, why: "empty", reason: "the model wrote an empty summary", usage };
      else if (isSummary(text, ask.part)) return text;
      else failure = { ok: false, why: "no-summary", reason: "the model continued the conversation instead", usage };
      if (result.error) return undefined;
    }
    return undefined;
  };

  let history = plan.previous && withoutCarried(plan.previous.summary);
  for (const conversation of conversationChunks(messagesOf(plan.history), chunkTokens)) {
    const written = await write({ conversation, previous: history, instructions, part: "history" });
    if (written === undefined) return failure as SummaryOutcome;
    history = written;
  }
  let prefix: string | undefined;
  for (const conversation of conversationChunks(messagesOf(plan.prefix), chunkTokens)) {
    const written = await write({ conversation, previous: prefix, part: "prefix" });
    if (written === undefined) return failure as SummaryOutcome;
    prefix = written;
  }
  if (history === undefined && prefix === undefined) return { ok: false, why: "empty", reason: "nothing to summarise" };
  return { ok: true, said: { history, prefix, ...by, usage } };
}

async function call(ports: SummaryPorts, asked: Summarising, text: string): Promise<ModelResult> {
  const { choice, sessionId, signal, patienceMs } = asked;
  const { thinking: _thinking, ...model } = choice;
  const request: ModelRequest = {
    ...model,
    system: SUMMARY_SYSTEM_PROMPT,
    messages: [{ role: "user", content: [{ type: "text", text }] }],
    tools: [],
    sessionId,
  };
  for (let tries = 1; ; tries++) {
    const permission = (await asked.gate?.before(request)) ?? { kind: "go" };
    if (permission.kind === "reached") return noAnswer(request, "request", permission.reached.text);
    if (permission.kind === "ended") return noAnswer(request, "aborted", "aborted");
    const { permit } = permission;
    const limited = { ...request, tries, maxTokens: permit?.maxTokens };
    const result = await once(ports, limited, signal);
    if (permit) asked.gate?.after(permit, result);
    const wait = waitBefore(result, tries);
    if (wait === undefined || wait > patienceMs) return result;
    if ((await sleep(ports.clock, wait, signal)) === "aborted") return noAnswer(request, "aborted", "aborted");
  }
}

/** Settles as soon as the signal aborts, even if the model ignores it. */
async function once(ports: SummaryPorts, request: ModelRequest, signal: AbortSignal): Promise<ModelResult> {
  if (signal.aborted) return noAnswer(request, "aborted", "aborted");
  const { promise: stopped, resolve } = Promise.withResolvers<ModelResult>();
  const stop = (): void => resolve({ ...noAnswer(request, "aborted", "aborted"), unheard: true });
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([ports.model.call(request, signal, () => {}), stopped]);
  } catch (error) {
    return { ...noAnswer(request, "transient", errorText(error)), unheard: true };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
