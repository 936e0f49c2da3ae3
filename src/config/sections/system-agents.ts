/** System agents by tag: additional ones, or other prompts for the shipped ones. */
import { z } from "zod";
import { section, text } from "../values.ts";

const systemAgentSchema = section({
  description: text("what it is for, in a sentence").optional(),
  prompt: text("the text of a prompt"),
  replacesSystemPrompt: z.boolean({ error: "expected true or false" }).optional(),
});

export const systemAgentsSchema = z
  .record(z.string().regex(/^[a-z]+$/, "system tag must be lowercase english letters"), systemAgentSchema, {
    error: "expected an object of tags, { tag: … }",
  })
  .readonly()
  .prefault({});
