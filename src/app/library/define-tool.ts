/** `defineTool`: a tool of the engine from a function and any Standard Schema. */
import { z } from "zod";
import { InvalidInputError } from "../../core/errors.ts";
import { type Block, blockSchema } from "../../core/history/entry.ts";
import { assertKnownKeys, type KeyTable } from "../../core/known-keys.ts";
import {
  DEFAULT_MAX_OUTPUT,
  type EffectContext,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from "../../core/ports/tool.ts";
import { RIGHTS, type Right } from "../../core/rights/right.ts";
import { jsonSchemaOf, type StandardSchema } from "../client/standard-schema.ts";

/** A text, blocks, a whole output, or any JSON value, which the model reads as JSON. */
type ToolResult = string | readonly Block[] | ToolOutput | object | number | boolean | null | undefined;

export interface ToolDefinition<Input> {
  /** As the model calls it: letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does and when to use it: the model reads this. */
  readonly description: string;
  /** A schema of zod, valibot, arktype or another library with Standard Schema. */
  readonly input: StandardSchema<Input>;
  /** The input in JSON Schema, for a schema that cannot say it itself. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /**
   * Does the work. An error it throws is a result that the model reads. An async generator reports progress with each text it
   * yields; what it returns is the result, or what it yielded last.
   */
  execute(
    input: Input,
    context: ToolContext,
  ): ToolResult | Promise<ToolResult> | AsyncIterable<ToolResult> | Promise<AsyncIterable<ToolResult>>;
  /**
   * After a crash during the call: `safe` makes the call again, with the same `effectKey`; `never` records that its outcome is unknown.
   * Default: `never`.
   */
  readonly replay?: Tool["replay"];
  /** What it touches. An agent without one of these rights cannot use it. Default: none. */
  readonly rights?: readonly Right[];
  /**
   * Whether a person must say yes before a call: always, or if this function says so. The run waits for the answer, also over
   * restarts. A grant that names the tool is a yes beforehand. Default: false.
   */
  readonly approval?: boolean | ((input: Input, context: EffectContext) => boolean | Promise<boolean>);
  /** May run at the same time as other tools of the same answer that allow it. Default: false. */
  readonly parallel?: boolean;
  /** Characters that the model sees; the rest goes to a file. Default: 4,000. */
  readonly maxOutput?: number;
}

const DEFINITION: KeyTable<ToolDefinition<unknown>> = {
  name: true,
  description: true,
  input: true,
  parameters: true,
  execute: true,
  replay: true,
  rights: true,
  approval: true,
  parallel: true,
  maxOutput: true,
};

/** The keys of a tool as the engine uses it. */
export const TOOL_KEYS: KeyTable<Tool> = {
  name: true,
  description: true,
  input: true,
  parameters: true,
  rights: true,
  replay: true,
  parallel: true,
  untrusted: true,
  maxOutput: true,
  renamed: true,
  effects: true,
  needsYes: true,
  preview: true,
  made: true,
  execute: true,
};

/** A tool of your own, for `createRookery({ tools })`. Throws `InvalidInputError` if the definition cannot be used. */
export function defineTool<Input>(definition: ToolDefinition<Input>): Tool {
  assertKnownKeys("defineTool()", definition, DEFINITION);
  const { name, description, input, execute, replay = "never", rights = [], parallel = false } = definition;
  const { maxOutput = DEFAULT_MAX_OUTPUT } = definition;
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name)) {
    throw new InvalidInputError(`A tool cannot be called ${JSON.stringify(String(name).slice(0, 80))}.`, {
      hint: "Use up to 64 letters, digits, _ and -, with a letter first.",
    });
  }
  const unknown = rights.find((right) => !RIGHTS.includes(right));
  if (unknown !== undefined) {
    throw new InvalidInputError(`${name}: there is no right "${unknown}".`, {
      hint: `Rights are ${RIGHTS.join(", ")}.`,
    });
  }
  return {
    name,
    description,
    input: zodOf(name, input),
    parameters: parametersOf(definition),
    rights,
    replay,
    parallel,
    maxOutput,
    needsYes: needsYesOf(definition.approval),
    execute: async (value, context) => outputOf(await execute(value as Input, context), context),
  };
}

function needsYesOf<Input>(approval: ToolDefinition<Input>["approval"] = false): Tool["needsYes"] {
  if (typeof approval === "function") return (input, context) => approval(input as Input, context);
  return approval ? () => true : undefined;
}

function parametersOf({
  name,
  input,
  parameters,
}: Pick<ToolDefinition<unknown>, "name" | "input" | "parameters">): Readonly<Record<string, unknown>> {
  const found = parameters ?? jsonSchemaOf(input);
  if (found?.type === "object") return found;
  throw new InvalidInputError(
    `${name}: the schema of the input ${found ? "is not an object" : "has no JSON Schema"}.`,
    {
      hint: "Give `parameters` as JSON Schema.",
    },
  );
}

/** The loop validates with zod. */
function zodOf(name: string, schema: StandardSchema): z.ZodType {
  const standard = schema?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new InvalidInputError(`${name}: the input is not a schema.`, {
      hint: "Use zod, valibot, arktype or the like.",
    });
  }
  return z.unknown().transform(async (value, context) => {
    const checked = await standard.validate(value);
    if (!checked.issues) return checked.value;
    for (const { message, path = [] } of checked.issues) {
      // Of arktype it is an array with more in it.
      const keys = Array.from(path, (part) => (typeof part === "object" ? part.key : part));
      context.addIssue({ code: "custom", message, path: keys });
    }
    return z.NEVER;
  });
}

/** What a tool of the engine returns, from what the function gave back. */
async function outputOf(result: unknown, context: Pick<ToolContext, "progress">): Promise<ToolOutput> {
  if (isIterable(result)) return outputOf(await lastOf(result, context), context);
  if (typeof result === "string") return text(result);
  if (isOutput(result)) return result;
  if (isBlocks(result)) return { content: result };
  return text(result === undefined ? "Done." : (JSON.stringify(result) ?? String(result)));
}

async function lastOf(results: AsyncIterable<unknown>, { progress }: Pick<ToolContext, "progress">): Promise<unknown> {
  const iterator = results[Symbol.asyncIterator]();
  let last: unknown;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return value ?? last;
    last = value;
    progress(typeof value === "string" ? value : JSON.stringify(value));
  }
}

const text = (content: string): ToolOutput => ({ content: [{ type: "text", text: content }] });
const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof (value as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] === "function";
const isBlocks = (value: unknown): value is readonly Block[] =>
  Array.isArray(value) && value.length > 0 && value.every((block) => blockSchema.safeParse(block).success);
const isOutput = (value: unknown): value is ToolOutput => isBlocks((value as ToolOutput | null)?.content);
