/** The answers of the OpenAI APIs. Their fields are those of OpenAI. */
import { z } from "zod";
import type { Document } from "./document.ts";

const functionCallSchema = z.strictObject({ name: z.string(), arguments: z.string() });

export const openAiModelSchema = z
  .strictObject({ id: z.string(), object: z.literal("model"), created: z.number(), owned_by: z.string() })
  .meta({ id: "OpenAiModel" });

export const chatCompletionSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal("chat.completion"),
    created: z.number().describe("In seconds."),
    model: z.string(),
    choices: z.array(
      z.strictObject({
        index: z.literal(0),
        message: z.strictObject({
          role: z.literal("assistant"),
          content: z.string().nullable(),
          refusal: z.null(),
          tool_calls: z
            .array(z.strictObject({ id: z.string(), type: z.literal("function"), function: functionCallSchema }))
            .optional(),
        }),
        logprobs: z.null(),
        finish_reason: z.enum(["stop", "length", "tool_calls"]),
      }),
    ),
    usage: z.strictObject({
      prompt_tokens: z.number(),
      completion_tokens: z.number(),
      total_tokens: z.number(),
      prompt_tokens_details: z.strictObject({ cached_tokens: z.number() }),
    }),
  })
  .meta({ id: "ChatCompletion" });
export type ChatCompletion = Document<typeof chatCompletionSchema>;

const outputTextSchema = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
});

export const responseSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal("response"),
    created_at: z.number().describe("In seconds."),
    status: z.enum(["completed", "incomplete", "in_progress"]),
    error: z.null(),
    incomplete_details: z.strictObject({ reason: z.literal("max_output_tokens") }).nullable(),
    instructions: z.string().nullable(),
    metadata: z.strictObject({}),
    model: z.string(),
    output: z.array(
      z.union([
        z.strictObject({
          id: z.string(),
          type: z.literal("message"),
          role: z.literal("assistant"),
          status: z.literal("completed"),
          content: z.array(outputTextSchema),
        }),
        functionCallSchema.extend({
          id: z.string(),
          type: z.literal("function_call"),
          status: z.literal("completed"),
          call_id: z.string(),
        }),
      ]),
    ),
    parallel_tool_calls: z.literal(true),
    previous_response_id: z.string().nullable(),
    temperature: z.null(),
    top_p: z.null(),
    tool_choice: z.literal("auto"),
    tools: z.array(z.unknown()),
    user: z.string().nullable(),
    usage: z
      .strictObject({
        input_tokens: z.number(),
        input_tokens_details: z.strictObject({ cached_tokens: z.number() }),
        output_tokens: z.number(),
        output_tokens_details: z.strictObject({ reasoning_tokens: z.number() }),
        total_tokens: z.number(),
      })
      .nullable(),
  })
  .meta({ id: "Response" });
export type ResponseDocument = Document<typeof responseSchema>;
