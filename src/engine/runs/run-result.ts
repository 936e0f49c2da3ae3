/** What a run that has ended gave, read from its record and its last line of history: for whoever asks only now. */
import { readEntry } from "../../core/history/entry.ts";
import type { RunId } from "../../core/ids.ts";
import type { AgentMeta, RunRecord, RunResult } from "../../core/run/run.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** Undefined where the run is not known (any more) or has not ended. */
export async function readRunResult(
  store: Pick<StoreReader, "run" | "linesBack">,
  runId: RunId,
): Promise<RunResult | undefined> {
  const run = await store.run(runId);
  if (!run?.outcome) return undefined;
  const { body } = run;
  const said = await lastWords(store, run);
  const payload = body.error
    ? { text: body.error.message, isError: true }
    : run.outcome === "ok" && said
      ? { text: said.text, ...(body.replyToId ? { replyToId: body.replyToId } : {}) }
      : undefined;
  return {
    runId,
    agentId: run.agentId,
    outcome: run.outcome,
    payloads: payload ? [payload] : [],
    meta: {
      durationMs: (run.endedAt ?? run.startedAt) - run.startedAt,
      aborted: run.outcome === "aborted",
      ...(said?.meta ? { agentMeta: said.meta } : {}),
      ...(body.error ? { error: body.error } : {}),
      ...(body.stopReason ? { stopReason: body.stopReason } : {}),
      pendingToolCalls: [],
    },
    didSendViaMessagingTool: (body.sentTargets ?? []).length > 0,
    messagingToolSentTexts: (body.sentTexts ?? []).filter((text) => text !== ""),
    messagingToolSentTargets: body.sentTargets ?? [],
  };
}

/** What the assistant said last in a run. Its place is in the record, so nothing is searched for. */
async function lastWords(
  store: Pick<StoreReader, "linesBack">,
  { agentId, sessionId, body }: RunRecord,
): Promise<{ text: string; meta?: AgentMeta } | undefined> {
  if (body.lastPos === undefined) return undefined;
  const [line] = await store.linesBack(agentId, { before: body.lastPos + 1, limit: 1 });
  const read = line && readEntry(line.line);
  if (read?.kind !== "entry" || read.entry.type !== "message" || read.entry.role !== "assistant") return undefined;
  const { content, provider, model } = read.entry;
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  const { usage } = body;
  if (provider === undefined || model === undefined) return { text };
  const total = usage && { ...usage, total: usage.totalTokens };
  const { input, output, cacheRead, cacheWrite } = usage ?? {};
  return {
    text,
    meta: {
      sessionId,
      provider,
      model,
      ...(total ? { usage: { input, output, cacheRead, cacheWrite, total: total.total } } : {}),
    },
  };
}
