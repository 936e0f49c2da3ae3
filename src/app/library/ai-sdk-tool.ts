/** Tools of the AI SDK (`tool()` of the package `ai`) as tools of the engine. */
import { InvalidInputError } from "../../core/errors.ts";
import type { EffectContext, Tool } from "../../core/ports/tool.ts";
import { jsonSchemaOf, type StandardSchema } from "../client/standard-schema.ts";
import { defineTool } from "./define-tool.ts";

/** The part of an AI SDK tool that is used. `inputSchema` is a Standard Schema, or what `jsonSchema()` returns. */
export interface AiSdkTool {
  /** A function is called once, without a context of the AI SDK. */
  readonly description?: string | ((options: never) => string);
  readonly inputSchema: unknown;
  readonly execute?: (input: never, options: never) => unknown;
  readonly needsApproval?: boolean | ((input: never, options: never) => boolean | PromiseLike<boolean>);
}

/** After a crash the call is not made again: the AI SDK does not say whether it may be. `needsApproval` asks a person first. */
export function toolOf(name: string, tool: AiSdkTool): Tool {
  const { description = "", inputSchema, execute, needsApproval = false } = tool;
  if (!execute) {
    throw new InvalidInputError(`${name} has no \`execute\`: it would run in a browser.`, {
      hint: "Give the tool an `execute` function.",
    });
  }
  const { schema, parameters } = schemaOf(name, inputSchema);
  return defineTool({
    name,
    description: typeof description === "function" ? description({ context: {} } as never) : description,
    input: schema,
    parameters,
    approval: typeof needsApproval === "function" ? asked(needsApproval) : needsApproval,
    execute: (input, context) =>
      execute(
        input as never,
        { ...context, toolCallId: context.callId, abortSignal: context.signal, messages: [] } as never,
      ) as object,
  });
}

const asked =
  (needsApproval: Extract<AiSdkTool["needsApproval"], (...args: never) => unknown>) =>
  async (input: unknown, { callId }: EffectContext): Promise<boolean> =>
    needsApproval(input as never, { toolCallId: callId, messages: [] } as never);

/** What `jsonSchema()` of the AI SDK returns. */
interface AiSdkSchema {
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  readonly validate?: (value: unknown) => AiSdkResult | Promise<AiSdkResult>;
}
type AiSdkResult =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

function schemaOf(
  name: string,
  given: unknown,
): { readonly schema: StandardSchema; readonly parameters?: Readonly<Record<string, unknown>> } {
  const schema = typeof given === "function" && !("~standard" in given) ? (given as () => unknown)() : given;
  if (isStandard(schema)) return { schema, parameters: jsonSchemaOf(schema) };
  const { jsonSchema, validate } = (schema ?? {}) as Partial<AiSdkSchema>;
  if (typeof jsonSchema !== "object" || "then" in jsonSchema) {
    throw new InvalidInputError(`${name}: the \`inputSchema\` cannot be used.`, {
      hint: "Use a schema of zod, valibot or arktype, or jsonSchema() with an object.",
    });
  }
  const check: StandardSchema["~standard"]["validate"] = async (value) => {
    const checked = (await validate?.(value)) ?? { success: true, value };
    return checked.success ? { value: checked.value } : { issues: [{ message: checked.error.message }] };
  };
  return { schema: { "~standard": { version: 1, vendor: "ai-sdk", validate: check } }, parameters: jsonSchema };
}

const isStandard = (value: unknown): value is StandardSchema =>
  value !== null && (typeof value === "object" || typeof value === "function") && "~standard" in value;
