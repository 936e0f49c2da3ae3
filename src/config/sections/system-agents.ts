/** System agents by tag: additional ones, or other prompts for the shipped ones. */
import { z } from "zod";
import { section, text } from "../values.ts";

const systemAgentSchema = section({
  description: text("what it is for, in a sentence")
    .optional()
    .describe("its purpose, which other agents read; the tag if it is not set"),
  prompt: text("the text of a prompt").describe(
    "its prompt; for `librarian` and `doctor`, instead of the built-in one",
  ),
  replacesSystemPrompt: z
    .boolean({ error: "expected true or false" })
    .optional()
    .describe("whether the prompt replaces the profile's prompt, or is added to it; false if it is not set"),
});

export const systemAgentsSchema = z
  .record(z.string().regex(/^[a-z]+$/, "system tag must be lowercase english letters"), systemAgentSchema, {
    error: "expected an object of tags, { tag: … }",
  })
  .readonly()
  .prefault({})
  .meta({ description: "agents of the installation itself, by tag", page: "agents-together.md#system-agents" });
