/**
 * Executes one tool call: validates the input, turns failures into results for the model, and limits the output, with a note
 * and a file that holds all of it. Throws only `SuspendedError`.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { cutText } from "../../core/cut-text.ts";
import { errorText, SuspendedError } from "../../core/errors.ts";
import { type Block, blockSchema, type Untrusted } from "../../core/history/entry.ts";
import { unknownKeys } from "../../core/known-keys.ts";
import type { FileStore } from "../../core/ports/ports.ts";
import type { Tool, ToolContext, ToolOutput } from "../../core/ports/tool.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { DEFAULT_TEXT_LIMITS } from "../../core/text-limits.ts";

export const UNKNOWN_OUTCOME = "Outcome unknown: the process stopped before it was recorded.";
export const NOT_STARTED = "Not started: the run ended before this call.";

/** Run ids are random and stored before the first call, so a call has the same key in every process that makes it (L4). */
export function effectKey({ agentId, runId, callId }: Pick<ToolContext, "agentId" | "runId" | "callId">): string {
  const hex = createHash("sha256")
    .update(JSON.stringify([agentId, runId, callId]))
    .digest("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}

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
  maxCharacters: number = DEFAULT_TEXT_LIMITS.toolResultCharacters,
): Promise<ToolOutput> {
  if (!tool) return textOutput(`Unknown tool: ${call.name}`, true);
  try {
    const input = await validate(tool, call);
    if (!input.success) return textOutput(input.problem, true);
    const output = await tool.execute(input.data, context);
    // Content that could not be read back must not get into history.
    const content = blocksSchema.safeParse(output.content);
    if (!content.success) return textOutput(`The result of ${call.name} has a form that cannot be kept.`, true);
    const max = Math.min(tool.maxOutput, maxCharacters);
    const untrusted = output.untrusted ?? sourceOf(tool);
    return { ...output, content: await bounded(content.data, max, tool.name, context, files), untrusted };
  } catch (error) {
    // A suspended call has no outcome yet.
    if (error instanceof SuspendedError) throw error;
    return { ...textOutput(cutText(errorText(error), MAX_ERROR), true), untrusted: sourceOf(tool) };
  }
}

/**
 * The arguments as the tool gets them, or what the model reads about them. The inputs of our own tools are strict: a misspelt argument is
 * refused with the closest one. A tool of a program keeps what its schema does.
 */
export async function validate<Input>(
  { input }: Pick<Tool<Input>, "input">,
  { name, arguments: given }: CallRecord,
): Promise<{ readonly success: true; readonly data: Input } | { readonly success: false; readonly problem: string }> {
  const parsed = await input.safeParseAsync(given, { error: unknownKeys });
  if (parsed.success) return parsed;
  const problems = cutText(z.prettifyError(parsed.error), MAX_ERROR);
  return { success: false, problem: `Invalid arguments for ${name}: ${problems}` };
}

/** Every result of a tool that reaches the network may contain text from there, an error too (M32). */
const sourceOf = ({ name, rights, untrusted = false }: Tool): Untrusted | undefined =>
  untrusted || rights.includes("network") ? { from: `tool:${name}` } : undefined;

/** An error is read by the model, which needs its beginning. */
const MAX_ERROR = 4_000;
/** What is kept of a long output: the file is written and hashed in one piece. */
const MAX_FILE = 8_000_000;
const MAX_BLOCKS = 1_000;
/** Of all images of a result, as they are sent. */
const MAX_IMAGES = 8_000_000;

/** Cuts an output that is too long and says which file holds the whole text (M34). */
async function bounded(
  all: readonly Block[],
  max: number,
  name: string,
  context: ToolContext,
  files: FileStore,
): Promise<readonly Block[]> {
  const { content, notes } = withoutExcess(all);
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  const noted = notes.map((text): Block => ({ type: "text", text }));
  if (total <= max) return [...content, ...noted];
  const text = texts.join("\n");
  const shown = cutText(text, max).toWellFormed();
  const kept = await keep(text, context, files);
  const note = `The output of ${name} was truncated: ${shown.length} of ${text.length} characters shown${kept}`;
  const rest = content.filter((block) => block.type !== "text");
  return [{ type: "text", text: `${shown}\n\n${note}` }, ...rest, ...noted];
}

/** Writes a long text to a file. Returns the words that say where it is. */
async function keep(text: string, { runId, callId }: ToolContext, files: FileStore): Promise<string> {
  const kept = cutText(text, MAX_FILE);
  // A call that is repeated after a crash may have another output: a file that was mentioned never changes.
  const safeId = callId.replace(/[^\w-]/gu, "_").slice(0, 64);
  const digest = createHash("sha256").update(kept).digest("hex").slice(0, 12);
  const what = kept.length === text.length ? "all of it is" : `the first ${kept.length} characters are`;
  return files.write(`${runId}-${safeId}-${digest}.txt`, kept).then(
    (path) => `, ${what} in ${path}`,
    (error) => ` (the rest could not be kept: ${errorText(error)})`,
  );
}

/** Leaves out blocks and images beyond their limits, with a note for each. */
function withoutExcess(all: readonly Block[]): { content: readonly Block[]; notes: readonly string[] } {
  const notes: string[] = [];
  let left = MAX_IMAGES;
  let images = 0;
  const content = all.slice(0, MAX_BLOCKS).filter((block) => {
    if (block.type !== "image") return true;
    left -= block.data.length;
    if (left >= 0) return true;
    images += 1;
    return false;
  });
  if (all.length > MAX_BLOCKS)
    notes.push(`Only the first ${MAX_BLOCKS} of ${all.length} parts of the output are shown.`);
  if (images > 0) notes.push(`${images} images were left out: images have at most ${MAX_IMAGES} characters in all.`);
  return { content, notes };
}
