/** How much may be spent before a run is ended: in tokens, in dollars, in messages of people a day. Absent: no limit. */
import { amount, section, wholeNumber } from "../values.ts";

const limitSchema = section({
  tokens: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe("model tokens"),
  dollars: amount().optional().describe("dollars"),
  messages: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe("messages of people per day"),
}).optional();

export const budgetsSchema = section({
  agent: limitSchema.describe("for one agent, over its lifetime"),
  tree: limitSchema.meta({ description: "for an agent and all agents it started", as: "budgets.agent" }),
  profile: limitSchema.meta({ description: "for all agents of one profile per day", as: "budgets.agent" }),
  person: limitSchema.meta({ description: "for one person per day", as: "budgets.agent" }),
  day: limitSchema.meta({ description: "for this installation per day", as: "budgets.agent" }),
})
  .prefault({})
  .meta({ description: "spending limits that end runs", page: "budgets.md" });
