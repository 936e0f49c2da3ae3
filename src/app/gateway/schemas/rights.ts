/** Rules, questions and the audit log on the wire. */

import { z } from "zod";
import { approvalSchema as approvalRecordSchema, askedEffectSchema } from "../../../core/rights/approval.ts";
import type { Document } from "./document.ts";
import { namesShape } from "./names.ts";

export const approvalSchema = approvalRecordSchema
  .extend({ n: z.number().describe("The store's order."), ...namesShape })
  .meta({ id: "Approval" });

const alwaysRuleSchema = z
  .strictObject({
    person: z.string(),
    allow: z.string(),
    when: z.literal("untrusted").optional().describe("It also counts while text of others is in context."),
  })
  .meta({ id: "AlwaysRule" });

const alwaysOfferSchema = z.union([
  z.array(alwaysRuleSchema),
  z.strictObject({ not: z.string().describe("Why there is no such rule.") }),
]);

export const alwaysOffersSchema = z
  .strictObject({
    call: alwaysOfferSchema.describe("For exactly this call."),
    pattern: alwaysOfferSchema.describe("For its pattern."),
  })
  .meta({ id: "AlwaysOffers" });

export const auditRowSchema = z
  .strictObject({
    at: z.number(),
    person: z.string().describe("The person it was done for."),
    surface: z
      .string()
      .describe("Where it came from: `api`, `cli`, `control`, a channel, `cron`, `heartbeat`, `hook`."),
    token: z.string().optional().describe("The id of the token that was presented."),
    agentId: z.string().optional(),
    runId: z.string().optional(),
    callId: z.string().optional(),
    action: z.string().describe("A tool, or what a person did: `person.put`, `token.mint`, `approval.decide`."),
    target: z.string().optional(),
    decision: z.enum(["allow", "ask", "deny"]),
    reason: z.string().optional(),
    outcome: z.enum(["error", "ok", "unknown"]).optional(),
    digest: z.string().optional().describe("SHA-256 of the arguments."),
    n: z.number(),
    ...namesShape,
  })
  .meta({ id: "AuditRow" });

export const ruleSchema = z
  .strictObject({
    verdict: z.enum(["allow", "ask", "deny"]),
    text: z.string(),
    source: z.string().describe("Where it is written: `permissions`, `profiles.main`, `agent`, the id of a person."),
    because: z.string().optional().describe("The justification: shown to the model and to people."),
    shows: z.string().optional().describe("The call that a yes for always covers, for people."),
    when: z
      .literal("untrusted")
      .optional()
      .describe("Counts only while text that the person did not write is in context; an allowance counts then too."),
  })
  .meta({ id: "Rule" });

export const listedRuleSchema = ruleSchema
  .extend({ stored: z.boolean().describe("It can be removed. A rule of the configuration is changed in its file.") })
  .meta({ id: "ListedRule" });
export type ListedRule = Document<typeof listedRuleSchema>;

const decisionSchema = z
  .strictObject({
    verdict: z.enum(["allow", "ask", "deny"]),
    reason: z.string().describe("The reason, in words for the person and the model. Empty if allowed."),
    person: z
      .string()
      .optional()
      .describe("The person whose rights decided. Absent: the kind, the profile, or the situation."),
    scope: z.enum(["admin", "chat", "operate", "read"]).optional().describe("The scope that the token lacks."),
    rule: ruleSchema.optional().describe("The rule that decided."),
  })
  .meta({ id: "Decision" });

const askedOfTokenSchema = z
  .strictObject({
    scope: z.enum(["admin", "chat", "operate", "read"]),
    own: z.boolean().optional().describe("Also for tokens of people and applications, about what belongs to them."),
  })
  .meta({ id: "AskedOfToken" });

const effectSchema = askedEffectSchema
  .unwrap()
  .extend({
    tool: z
      .string()
      .optional()
      .describe("The tool it is done with, which kinds of agents and profiles limit. Absent: `action`."),
    version: z
      .string()
      .nullable()
      .optional()
      .describe("The version of the file that was looked at; null: there is none. The tool changes no other one."),
    asked: askedOfTokenSchema.optional().describe("Its requirements for a token. Absent: none."),
  })
  .meta({ id: "Effect" });

export const triedCallSchema = z
  .strictObject({
    decision: decisionSchema,
    effects: z
      .array(z.strictObject({ effect: effectSchema, decision: decisionSchema }))
      .describe("Each effect of the call by itself."),
  })
  .meta({ id: "TriedCall" });
