/** Whose words an answer of another agent brings, and whether they are untrusted (M30, M32). */
import type { SessionKey } from "../../../core/ids.ts";
import type { ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import type { RunResult } from "../../../core/run/run.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { textOfAgent } from "./text-of-agent.ts";

/** To be read after the answer: the other may have got the mark while it worked. */
export async function answerMarks(
  { store }: Pick<AgentToolDeps, "store">,
  context: Pick<ToolContext, "agent" | "behalf">,
  sessionKey: SessionKey,
  result: RunResult | undefined,
): Promise<Pick<ToolOutput, "heard" | "untrusted">> {
  const answered = result && (await store.run(result.runId));
  const heard = answered?.body.behalf && [answered.body.behalf];
  return { heard, untrusted: textOfAgent(context, await store.agentByKey(sessionKey)) };
}
