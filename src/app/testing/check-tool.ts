/** The contract of a tool, as checks that any test runner can use, among them a crash around every commit of a call. */
import { errorText } from "../../core/errors.ts";
import { blockSchema } from "../../core/history/entry.ts";
import { assertKnownKeys } from "../../core/known-keys.ts";
import type { Tool, ToolContext, ToolOutput } from "../../core/ports/tool.ts";
import { crashTool } from "./crash-tool.ts";

export interface ToolTrial {
  readonly tool: Tool;
  /** What the tool takes. */
  readonly input: object;
  /** What it must refuse. */
  readonly bad?: readonly unknown[];
  /** Milliseconds in which a call that is aborted must end. Default: 5,000. */
  readonly abortMs?: number;
}

/** What the tool does wrong; empty if it keeps the contract. `execute` is called many times: use a tool without real effects. */
export async function checkTool(trial: ToolTrial): Promise<readonly string[]> {
  assertKnownKeys("checkTool()", trial, { tool: true, input: true, bad: true, abortMs: true });
  const { tool, input, bad = [], abortMs = 5_000 } = trial;
  const problems: string[] = [];
  if (tool.description.trim() === "") problems.push("it has no description: the model reads it");
  if (tool.parameters && tool.parameters.type !== "object")
    problems.push("its `parameters` are not those of an object");
  const parsed = await tool.input.safeParseAsync(input);
  if (!parsed.success) return [...problems, `it refuses the input: ${parsed.error.message}`];
  for (const value of bad) {
    if ((await tool.input.safeParseAsync(value)).success) problems.push(`it takes ${JSON.stringify(value)}`);
  }
  problems.push(...(await problemsOfOutput(tool, parsed.data)));
  if (!(await endsWhenAborted(tool, parsed.data, abortMs))) {
    problems.push(`a call that is aborted does not end within ${abortMs} ms: pass \`signal\` on`);
  }
  for (const { at, moment, executions, effectKeys, answers } of await crashTool(tool, input)) {
    const where = `killed ${moment} ${at}`;
    if (answers.length !== 1) problems.push(`${where}: ${answers.length} answers`);
    if (tool.replay === "never" && executions > 1) problems.push(`${where}: called ${executions} times`);
    if (new Set(effectKeys).size > 1) problems.push(`${where}: called again with another key`);
  }
  return problems;
}

const contextOf = (signal: AbortSignal): ToolContext => {
  const agentId = "a".repeat(24);
  const agent = { id: agentId, profile: "main", state: {}, descriptor: { type: "user" } };
  return {
    agent,
    agentId,
    runId: "run",
    callId: "call",
    effectKey: "key",
    signal,
    progress() {},
  } as unknown as ToolContext;
};

/** An error that it throws is a result that the model reads. */
async function problemsOfOutput(tool: Tool, input: unknown): Promise<readonly string[]> {
  let output: ToolOutput;
  try {
    output = await tool.execute(input, contextOf(new AbortController().signal));
  } catch (error) {
    return errorText(error) === "" ? ["it throws an error without a message"] : [];
  }
  const isValid =
    Array.isArray(output?.content) && output.content.every((block) => blockSchema.safeParse(block).success);
  return isValid ? [] : ["its output has no blocks of content"];
}

function endsWhenAborted(tool: Tool, input: unknown, ms: number): Promise<boolean> {
  const abort = new AbortController();
  const ended = Promise.resolve(tool.execute(input, contextOf(abort.signal))).then(
    () => true,
    () => true,
  );
  abort.abort();
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  return Promise.race([ended, late.promise]).finally(() => clearTimeout(timer));
}
