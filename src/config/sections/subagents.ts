/** Subagents: depth, profile, model and thinking. */
import { z } from "zod";
import { list, section, text, wholeNumber } from "../values.ts";
import { modelNameSchema, thinkingSchema } from "./models.ts";

export const subagentDefaults = { maxDepth: 1 } as const;

const allowAgents = () => list(text('the name of a profile, or "*" for any'));
/** A name, or an object whose `primary` is one. */
const model = () => z.union([modelNameSchema(), section({ primary: modelNameSchema() })]);

/** The settings of one profile: for children its agents start, and for children under this profile. */
export const profileSubagentsSchema = section({
  allowAgents: allowAgents().optional(),
  model: model().optional(),
  thinking: thinkingSchema().optional(),
});

export const subagentsSchema = section({
  maxDepth: wholeNumber(1, 5)
    .default(subagentDefaults.maxDepth)
    .describe("how deep children may have children: 1 (not at all) to 5"),
  allowAgents: allowAgents()
    .prefault([])
    .describe('profiles any agent may start children with, in addition to its own; `"*"` means any'),
  model: model()
    .optional()
    .describe("the model of children, as a name or as `{ primary: name }`; that of their profile if it is not set"),
  thinking: thinkingSchema()
    .optional()
    .describe("the thinking level of children; that of their profile if it is not set"),
})
  .prefault({})
  .meta({ description: "children that agents start", page: "subagents.md" });
