/**
 * `sessions_send`: sends a message to another agent and, by default, waits for its answer. Without waiting, the message is
 * committed with the tool's result (M12). A wait releases the lane, is refused if it would close a cycle, and continues after
 * a restart with the same message (M11).
 */
import { z } from "zod";
import {
  DeniedError,
  errorText,
  InvalidInputError,
  NotFoundError,
  SuspendedError,
  TimeoutError,
  WaitCycleError,
} from "../../../core/errors.ts";
import type { SessionKey } from "../../../core/ids.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { effectsOn, effectsOnFound } from "./agent-effects.ts";
import type { AgentToolDeps, AskResult } from "./agent-tool-deps.ts";
import { answerMarks } from "./answer-marks.ts";
import { findTarget, keyOf, type Target } from "./find-target.ts";
import { jsonOutput, textOutput } from "./json-output.ts";
import { ANSWER_SECONDS, bodyFrom, callKey, postTo } from "./outgoing.ts";
import { mayWrite } from "./relations.ts";

const EFFECT = { action: "sessions_send", rights: ["send"] } as const;
const MAX_TIMEOUT_SECONDS = 86_400;

const input = z.strictObject({
  sessionKey: z.string().optional().describe("The recipient: a session key, an agent's id or its name"),
  label: z.string().optional().describe("The recipient, by the label or name of an agent you started"),
  message: z.string().describe("What to say"),
  timeoutSeconds: z.number().min(0).max(MAX_TIMEOUT_SECONDS).optional().describe("How long to wait; 0: do not wait"),
});
type Input = z.infer<typeof input>;

export const sessionsSendTool = (deps: AgentToolDeps): Tool<Input> => ({
  name: "sessions_send",
  description: "Sends a message into another session and waits for its answer.",
  input,
  rights: ["send"],
  replay: "safe",
  // Not parallel: if the run is suspended during the wait, results of other calls in the batch would be lost.
  parallel: false,
  maxOutput: 40_000,
  effects: (given, context) =>
    effectsOnFound(deps, context, async () => findTarget(deps, context.agent, recipientIn(given)), EFFECT),
  async execute(given, context) {
    let sessionKey: SessionKey | undefined;
    try {
      const target = await findTarget(deps, context.agent, recipientIn(given));
      sessionKey = keyOf(target);
      if (given.message.trim() === "") throw new InvalidInputError("A message needs text.");
      checkAllowed(context, await effectsOn(deps, context, target, EFFECT));
      await mayWrite(deps, context, target);
      return await send(deps, context, given, target, sessionKey);
    } catch (error) {
      // Errors that the model can handle are returned in the tool's format. The engine handles the others.
      if (error instanceof DeniedError) return jsonOutput({ status: "forbidden", error: errorText(error), sessionKey });
      if (error instanceof InvalidInputError || error instanceof NotFoundError || error instanceof WaitCycleError) {
        return jsonOutput({ status: "error", error: errorText(error), sessionKey });
      }
      throw error;
    }
  },
});

function recipientIn({ sessionKey, label }: Input): string {
  if (sessionKey !== undefined && label !== undefined) {
    throw new InvalidInputError("Provide either sessionKey or label (not both).");
  }
  const written = sessionKey ?? label;
  if (written === undefined) throw new InvalidInputError("Either sessionKey or label is required");
  return written;
}

async function send(
  deps: AgentToolDeps,
  context: ToolContext,
  given: Input,
  target: Target,
  sessionKey: SessionKey,
): Promise<ToolOutput> {
  const body = await bodyFrom(deps, context, target, given.message);
  const timeoutMs = (given.timeoutSeconds ?? ANSWER_SECONDS) * 1000;
  if (timeoutMs === 0) return jsonOutput({ status: "accepted", sessionKey }, [postTo(deps, target, body)]);
  const key = callKey(context, given);
  const to = target.agent ? { agentId: target.agent.id } : { descriptor: target.descriptor, profile: target.profile };
  const { agentId: from, signal } = context;
  const endWait = [{ op: "wait.end", id: key } as const];
  try {
    const answer = await deps.ask({ from, to, body, key, timeoutMs, signal });
    const marks = await answerMarks(deps, context, sessionKey, answer.result);
    return { ...jsonOutput(answerOf(answer, sessionKey), endWait), ...marks };
  } catch (error) {
    // A suspended wait continues after the restart. Any other error ends it.
    if (error instanceof SuspendedError || error instanceof WaitCycleError) throw error;
    if (!(error instanceof TimeoutError)) return { ...textOutput(errorText(error)), isError: true, ops: endWait };
    const hint = "The message stays accepted; nothing waits for its answer any more.";
    const waited = `No answer within ${Math.round(timeoutMs / 1000)} seconds.`;
    return jsonOutput({ status: "timeout", error: `${waited} ${hint}`, sessionKey }, endWait);
  }
}

function answerOf({ result, ended }: AskResult, sessionKey: SessionKey): object {
  if (!result) {
    const why = ended?.reason ? ` (${ended.reason})` : "";
    return {
      status: "error",
      error: `The message was not answered: ${ended?.state ?? "it no longer exists"}${why}.`,
      sessionKey,
    };
  }
  const { runId, outcome, payloads, meta } = result;
  const reply = payloads.flatMap(({ text, isError }) => (text === undefined || isError ? [] : [text])).join("\n");
  if (outcome === "ok") return { status: "ok", runId, reply, sessionKey };
  return { status: "error", runId, error: meta.error?.message ?? `The run ended ${outcome}.`, sessionKey };
}
