/**
 * Executes one tool call: validates the input, turns failures into results for the model, and limits the output, with a note
 * and a file that holds all of it. Throws only `SuspendedError`.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { errorText, SuspendedError } from "../../core/errors.ts";
import { type Block, blockSchema } from "../../core/history/entry.ts";
import type { FileStore } from "../../core/ports/ports.ts";
import type { Tool, ToolContext, ToolOutput } from "../../core/ports/tool.ts";
import type { CallRecord } from "../../core/run/run.ts";

export const UNKNOWN_OUTCOME = "Outcome unknown: the process stopped before it was recorded.";
export const NOT_STARTED = "Not started: the run ended before this call.";

export const textOutput = (text: string, isError = false): ToolOutput => ({
  content: [{ type: "text", text }],
  isError,
});

const blocksSchema = z.array(blockSchema);

export async function callTool(
  tool: Tool | undefined,
  call: CallRecord,
  context: ToolContext,
  files: FileStore,
): Promise<ToolOutput> {
  if (!tool) return textOutput(`Unknown tool: ${call.name}`, true);
  try {
    const input = await tool.input.safeParseAsync(call.arguments);
    if (!input.success) {
      return textOutput(`Invalid arguments for ${call.name}: ${z.prettifyError(input.error)}`, true);
    }
    const output = await tool.execute(input.data, context);
    // Content that could not be read back must not get into history.
    const content = blocksSchema.safeParse(output.content);
    if (!content.success) return textOutput(`The result of ${call.name} has a form that cannot be kept.`, true);
    return { ...output, content: await bounded(content.data, tool, context, files) };
  } catch (error) {
    // A suspended call has no outcome yet.
    if (error instanceof SuspendedError) throw error;
    return textOutput(errorText(error), true);
  }
}

/** Cuts an output that is too long and says which file holds all of it. */
async function bounded(
  content: readonly Block[],
  { name, maxOutput }: Tool,
  { runId, callId }: ToolContext,
  files: FileStore,
): Promise<readonly Block[]> {
  const total = content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
  if (total <= maxOutput) return content;
  const all = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  // A call that is repeated after a crash may have another output: a file that was mentioned never changes.
  const safeId = callId.replace(/[^\w-]/gu, "_").slice(0, 64);
  const digest = createHash("sha256").update(all).digest("hex").slice(0, 12);
  const rest = await files.write(`${runId}-${safeId}-${digest}.txt`, all).then(
    (path) => `, all of it is in ${path}`,
    (error) => ` (the rest could not be kept: ${errorText(error)})`,
  );
  const note = `The output of ${name} was truncated: ${maxOutput} of ${all.length} characters shown${rest}`;
  const text = `${all.slice(0, maxOutput).toWellFormed()}\n\n${note}`;
  return [{ type: "text", text }, ...content.filter((block) => block.type !== "text")];
}
