/** Budgets and usage on the wire. */
import { z } from "zod";
import type { Document } from "./document.ts";

export const spentBySchema = z
  .strictObject({
    rootId: z.string(),
    agentId: z.string(),
    person: z.string().optional(),
    runs: z.number(),
    tokens: z.number(),
    cost: z.number().describe("In dollars, by the providers' prices."),
  })
  .meta({ id: "SpentBy" });

export const daySpentSchema = z
  .strictObject({
    day: z.string(),
    from: z.number(),
    until: z.number(),
    tokens: z.number(),
    dollars: z.number(),
    by: z.array(spentBySchema),
  })
  .meta({ id: "DaySpent" });
export type DaySpent = Document<typeof daySpentSchema>;

const budgetLimitSchema = z
  .strictObject({
    tokens: z.number().optional(),
    micros: z.number().optional(),
    messages: z.number().optional().describe("Messages of people in one day."),
  })
  .meta({ id: "BudgetLimit" });

const budgetSpendSchema = z.strictObject({ tokens: z.number(), micros: z.number() }).meta({ id: "BudgetSpend" });

export const budgetSchema = z
  .strictObject({
    scope: z.enum(["agent", "day", "messages", "person", "profile", "token", "tree"]),
    of: z.string().describe("Its owner: an agent's id, a day, a day and a person."),
    limit: budgetLimitSchema.optional().describe("As configured; absent if the scope is no longer limited."),
    allowed: budgetLimitSchema.optional().describe("The same with what was lifted."),
    spent: budgetSpendSchema,
    reserved: budgetSpendSchema,
    lifted: budgetSpendSchema.describe("Allowed by a person beyond the limit."),
    estimated: budgetSpendSchema.describe(
      "The part of `spent` that no provider counted: calls with an unknown result, charged with their reservation.",
    ),
    key: z.string(),
    name: z.string().describe("The key, with the name of an agent instead of its id. It names the budget too."),
    at: z.number().describe("When it last changed."),
  })
  .meta({ id: "Budget" });
