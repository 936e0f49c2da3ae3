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
  maxDepth: wholeNumber(1, 5).default(subagentDefaults.maxDepth),
  allowAgents: allowAgents().prefault([]),
  model: model().optional(),
  thinking: thinkingSchema().optional(),
}).prefault({});
