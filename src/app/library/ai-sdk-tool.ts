/** Tools of the AI SDK (`tool()` of the package `ai`) as tools of the engine. */
import { InvalidInputError } from "../../core/errors.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { jsonSchemaOf, type StandardSchema } from "../client/standard-schema.ts";
import { defineTool } from "./define-tool.ts";

/** The part of an AI SDK tool that is used. `inputSchema` is a Standard Schema, or what `jsonSchema()` returns. */
export interface AiSdkTool {
  readonly description?: string;
  readonly inputSchema: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the types of the AI SDK are generic over its own schemas.
  readonly execute?: (input: any, options: any) => unknown;
  readonly needsApproval?: unknown;
}

/** After a crash the call is not made again: the AI SDK does not say whether it may be. */
export function toolOf(name: string, { description = "", inputSchema, execute, needsApproval }: AiSdkTool): Tool {
  if (!execute) {
    throw new InvalidInputError(`${name} has no \`execute\`: it would run in a browser.`, {
      hint: "Give the tool an `execute` function.",
    });
  }
  if (needsApproval) {
    throw new InvalidInputError(`${name} has \`needsApproval\`, which is not supported.`, {
      hint: "Without it the tool would run unasked. Leave the tool out, or remove `needsApproval` if that is what you want.",
    });
  }
  const { schema, parameters } = schemaOf(name, inputSchema);
  return defineTool({
    name,
    description,
    input: schema,
    parameters,
    execute: (input, context) =>
      execute(input, {
        ...context,
        toolCallId: context.callId,
        abortSignal: context.signal,
        messages: [],
      }) as object,
  });
}

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
