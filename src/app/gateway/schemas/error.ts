/** The shape of every error over HTTP. It is that of the OpenAI API, with a hint. */
import { z } from "zod";
import type { Document } from "./document.ts";

export const errorBodySchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string().describe("The problem, then what to do."),
      type: z.string().describe("The type of the OpenAI API."),
      param: z.string().nullable().describe("The field that is wrong."),
      code: z.string().describe("Stable: decide by this one."),
      hint: z.string().optional().describe("What to do; `message` ends with it."),
      retryable: z.boolean().describe("Whether the same request may succeed later."),
    }),
  })
  .meta({ id: "Error" });
export type ErrorBody = Document<typeof errorBodySchema>;
