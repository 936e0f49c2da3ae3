/**
 * `sessions_send`: says something to another agent and, unless told otherwise, waits for its answer. Not waiting is one commit
 * with the result (M12). Waiting gives the place in the lane back, is refused where it would close a circle, and goes on after
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
import type { AgentToolDeps, Asked } from "./agent-tool-deps.ts";
import { findTarget, keyOf, type Target } from "./find-target.ts";
import { jsonOutput, textOutput } from "./json-output.ts";
import { bodyFrom, callKey, postTo } from "./outgoing.ts";
import { mayWrite } from "./relations.ts";

const MAX_TIMEOUT_SECONDS = 86_400;

const input = z.object({
  sessionKey: z.string().optional().describe("Whom to ask: a session key, an agent's id or its name"),
  label: z.string().optional().describe("Whom to ask, by the label or name of an agent you started"),
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
  // Alone in its turn: while it waits, nothing beside it may have happened that would be lost if it is set aside.
  parallel: false,
  maxOutput: 40_000,
  async execute(given, context) {
    let sessionKey: SessionKey | undefined;
    try {
      const target = await findTarget(deps, context.agent, whom(given));
      sessionKey = keyOf(target);
      if (given.message.trim() === "") throw new InvalidInputError("A message needs text.");
      await mayWrite(deps.store, deps.config, context.agent, target);
      return await send(deps, context, given, target, sessionKey);
    } catch (error) {
      // What the model can do something about is said in the form it asked for; the rest is the engine's affair.
      if (error instanceof DeniedError) return jsonOutput({ status: "forbidden", error: errorText(error), sessionKey });
      if (error instanceof InvalidInputError || error instanceof NotFoundError || error instanceof WaitCycleError) {
        return jsonOutput({ status: "error", error: errorText(error), sessionKey });
      }
      throw error;
    }
  },
});

function whom({ sessionKey, label }: Input): string {
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
  const timeoutMs = (given.timeoutSeconds ?? deps.config.agentToAgent.timeoutSeconds) * 1000;
  if (timeoutMs === 0) return jsonOutput({ status: "accepted", sessionKey }, [postTo(deps, target, body)]);
  const key = callKey(context, given);
  const to = target.agent ? { agentId: target.agent.id } : { descriptor: target.descriptor, profile: target.profile };
  const { agentId: from, signal } = context;
  const over = [{ op: "wait.end", id: key } as const];
  try {
    return jsonOutput(answerOf(await deps.ask({ from, to, body, key, timeoutMs, signal }), sessionKey), over);
  } catch (error) {
    // Set aside, the wait goes on after the restart; whatever else it is, it is over.
    if (error instanceof SuspendedError || error instanceof WaitCycleError) throw error;
    if (!(error instanceof TimeoutError)) return { ...textOutput(errorText(error)), isError: true, ops: over };
    const hint = "The message stays accepted; its answer is not waited for any more.";
    const waited = `No answer within ${Math.round(timeoutMs / 1000)} seconds.`;
    return jsonOutput({ status: "timeout", error: `${waited} ${hint}`, sessionKey }, over);
  }
}

function answerOf({ result, ended }: Asked, sessionKey: SessionKey): object {
  if (!result) {
    const why = ended?.reason ? ` (${ended.reason})` : "";
    return {
      status: "error",
      error: `The message was not answered: ${ended?.state ?? "nobody knows it any more"}${why}.`,
      sessionKey,
    };
  }
  const { runId, outcome, payloads, meta } = result;
  const reply = payloads.flatMap(({ text, isError }) => (text === undefined || isError ? [] : [text])).join("\n");
  if (outcome === "ok") return { status: "ok", runId, reply, sessionKey };
  return { status: "error", runId, error: meta.error?.message ?? `The run ended ${outcome}.`, sessionKey };
}
