/**
 * The result of an ended run, made from its record and the last line it wrote. This is the only place that builds a
 * `RunResult`, so a caller that waits for the end and one that looks it up later get the same.
 */
import type { Payload } from "../delivery/delivery.ts";
import type { Entry, MessageEntry } from "../history/entry.ts";
import type { AgentMeta, RunOutcome, RunRecord, RunResult } from "./run.ts";

export type EndedRun = Omit<RunRecord, "state" | "attempt" | "step" | "outcome"> & { readonly outcome: RunOutcome };

/** `last`: the line of history at the record's `lastPos`. One of another run is ignored. */
export function runResult(run: EndedRun, last: Entry | undefined): RunResult {
  const { body, outcome } = run;
  const said = last?.type === "message" && last.role === "assistant" && last.runId === run.id ? last : undefined;
  const payload = payloadOf(run, said);
  const targets = body.sentTargets ?? [];
  return {
    runId: run.id,
    agentId: run.agentId,
    outcome,
    payloads: payload ? [payload] : [],
    meta: {
      durationMs: (run.endedAt ?? run.startedAt) - run.startedAt,
      aborted: outcome === "aborted",
      agentMeta: said && agentMeta(run, said),
      systemPromptReport: body.systemPromptReport,
      error: body.error,
      stopReason: body.stopReason,
      compaction: body.compaction,
      pendingToolCalls: body.pendingToolCalls ?? [],
    },
    didSendViaMessagingTool: targets.length > 0,
    messagingToolSentTexts: (body.sentTexts ?? []).filter((text) => text !== ""),
    messagingToolSentTargets: targets,
  };
}

/** The answer: what the record says, otherwise the error, otherwise what the assistant wrote last. */
function payloadOf({ body, outcome }: EndedRun, said: MessageEntry | undefined): Payload | undefined {
  const { answer, error, replyToId } = body;
  if (answer === null) return undefined;
  if (answer) return { ...answer, replyToId };
  if (error) return { text: error.message, isError: true, replyToId };
  return outcome === "ok" && said ? { text: textOf(said), replyToId } : undefined;
}

const textOf = ({ content }: MessageEntry): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

function agentMeta({ sessionId, body: { usage } }: EndedRun, said: MessageEntry): AgentMeta | undefined {
  const { provider, model } = said;
  if (provider === undefined || model === undefined) return undefined;
  if (!usage) return { sessionId, provider, model };
  const { input, output, cacheRead, cacheWrite, totalTokens: total } = usage;
  return { sessionId, provider, model, usage: { input, output, cacheRead, cacheWrite, total } };
}
