/** The state of the engine on the wire. */

import { z } from "zod";
import type { Document } from "./document.ts";
import { agentNameSchema } from "./names.ts";

export const reloadReportSchema = z
  .strictObject({ changed: z.array(z.string()), reloaded: z.array(z.string()), needsRestart: z.array(z.string()) })
  .meta({ id: "ReloadReport" });
export type ReloadReport = Document<typeof reloadReportSchema>;

const connectorLoginSchema = z
  .strictObject({ pairingCode: z.string().optional(), rows: z.array(z.string()).optional() })
  .meta({ id: "ConnectorLogin" });
export type ConnectorLogin = Document<typeof connectorLoginSchema>;

export const connectorItemSchema = z
  .strictObject({
    login: connectorLoginSchema
      .optional()
      .describe("Only the owner sees it: whoever scans it can take the account over."),
    channel: z
      .string()
      .describe("The channel: the kind of a configured account, or the name of a connector of the program."),
    waiting: z.number().describe("Deliveries that wait to be sent, up to a thousand in all."),
    ok: z.boolean(),
    detail: z.string(),
    lastError: z
      .strictObject({ at: z.number(), text: z.string() })
      .optional()
      .describe("The last failure, kept after it works again."),
    lagMs: z.number().optional().describe("How old the last message was when it was accepted."),
    name: z.string().describe("Its name in the configuration."),
    accountId: z.string().optional().describe("As in addresses; absent for the account that is called like its kind."),
    state: z
      .enum(["elsewhere", "failing", "off", "running", "starting"])
      .describe("`elsewhere`: on another node. `off`: this process does not start it."),
  })
  .meta({ id: "ConnectorItem" });
export type ConnectorItem = Document<typeof connectorItemSchema>;

export const nodeRecordSchema = z
  .strictObject({
    node: z.number(),
    name: z.string(),
    leaseUntil: z.number(),
    left: z.boolean(),
    returned: z
      .boolean()
      .describe(
        "Its process lost the lease and joined again under another number. Until then it may have continued its work.",
      ),
  })
  .meta({ id: "NodeRecord" });

const doctorItemSchema = z
  .strictObject({
    check: z.string(),
    status: z.enum(["notice", "ok", "problem", "skipped"]),
    text: z.string(),
    help: z.string().nullable(),
    fixable: z.boolean(),
  })
  .meta({ id: "DoctorItem" });

export const doctorReportSchema = z
  .strictObject({ items: z.array(doctorItemSchema), next: z.null(), problems: z.number(), notices: z.number() })
  .meta({ id: "DoctorReport" });

export const triedModelSchema = z
  .strictObject({
    model: z.string(),
    ok: z.boolean(),
    problem: z.string().optional().describe("The problem, if it did not answer."),
    answer: z.string().optional(),
    firstMs: z.number().nullable().describe("Until the first part of the answer arrived, and until it was complete."),
    totalMs: z.number(),
    usage: z
      .strictObject({ input: z.number(), output: z.number(), totalTokens: z.number() })
      .nullable()
      .describe("Null: the provider did not count."),
    cost: z.number().nullable().describe("The price of this call, in dollars. Null: no price is known."),
    price: z
      .strictObject({ input: z.number(), output: z.number() })
      .nullable()
      .describe("Dollars per million tokens. Null: not known."),
    contextWindow: z.number().nullable(),
    maxTokens: z.number().nullable(),
    features: z.strictObject({ thinking: z.array(z.string()), images: z.boolean(), tools: z.boolean() }).nullable(),
  })
  .meta({ id: "TriedModel" });

const prunedPartSchema = z
  .strictObject({
    what: z.string(),
    count: z.number(),
    bytes: z.number().optional().describe("Of files."),
    olderThanDays: z.number().describe("How old it must be, in days."),
  })
  .meta({ id: "PrunedPart" });

export const pruneReportSchema = z
  .strictObject({ items: z.array(prunedPartSchema), removed: z.boolean(), compacted: z.boolean() })
  .meta({ id: "PruneReport" });

export const modelLoginSchema = z
  .strictObject({
    provider: z.string(),
    profile: z.string(),
    state: z.enum(["ended", "expired", "valid"]).describe("`ended`: a person must log in again."),
    expiresAt: z.number().nullable().describe("When the token in use expires; null: it does not."),
    loggedInAt: z.number(),
  })
  .meta({ id: "ModelLogin" });

export const refusedKeySchema = z
  .strictObject({
    provider: z.string(),
    profile: z.string(),
    where: z.string().describe("Where the key is stored. Never the key itself."),
    replaceWith: z.string().describe("The command that replaces it."),
    status: z.number().nullable().describe("The HTTP status of the refusal; null if there was none."),
    model: z.string().describe("The model of the refused call, `provider/id`."),
    onlyModel: z.boolean().describe("True if the key may work for other models."),
    tryAgainAt: z
      .number()
      .nullable()
      .describe("When it is tried again; null if the pause is over: the next call tries it."),
  })
  .meta({ id: "RefusedKey" });

export const failingMessageSchema = z
  .strictObject({
    agentId: z.string(),
    agentName: agentNameSchema,
    sessionKey: z.string(),
    seq: z.number(),
    kind: z.string(),
    times: z.number(),
    reason: z.string(),
    nextAt: z.number(),
  })
  .meta({ id: "FailingMessage" });

export const busyItemSchema = z
  .strictObject({
    agentId: z.string(),
    sessionKey: z.string(),
    kind: z.enum(["cron", "heartbeat", "permanent", "subagent", "swarm", "system", "user"]),
    name: z.string(),
    waiting: z.number(),
  })
  .meta({ id: "BusyItem" });
export type BusyItem = Document<typeof busyItemSchema>;

const busyAgentSchema = busyItemSchema
  .extend({
    held: z.boolean(),
    stopped: z.string().optional(),
    run: z
      .strictObject({
        id: z.string(),
        forMs: z.number(),
        attempt: z.number(),
        iterations: z.number(),
        calls: z.array(z.string()),
        abort: z.string().optional(),
        waitsForTrial: z
          .boolean()
          .describe("It was open when the program stopped, twice or more, and waits for its trial."),
      })
      .optional(),
    next: z
      .array(z.strictObject({ kind: z.string(), forMs: z.number(), will: z.string() }))
      .describe("The first waiting messages, with what will happen to each."),
  })
  .meta({ id: "BusyAgent" });

export const diagnosisSchema = z
  .strictObject({
    at: z.number(),
    busy: z.array(busyAgentSchema).describe("Agents with work, the oldest first."),
    more: z.boolean().describe("Whether there are more of them than are listed."),
    lanes: z
      .record(z.string(), z.strictObject({ size: z.number(), active: z.number(), waiting: z.number() }))
      .describe("The size of each lane on this node, its active runs and its waiting runs."),
    waits: z.array(
      z.strictObject({
        from: z.string(),
        to: z.string(),
        fromName: z.string().optional(),
        toName: z.string().optional(),
        sinceMs: z.number(),
      }),
    ),
    deadLetters: z.array(
      z.strictObject({
        id: z.string(),
        agentId: z.string(),
        agentName: agentNameSchema,
        state: z.string(),
        reason: z.string().optional(),
        channel: z.string().optional(),
        attempts: z.number(),
      }),
    ),
    waitingDeliveries: z
      .strictObject({ unroutable: z.number(), "waiting-reader": z.number() })
      .describe("How many deliveries wait for a reader and for a route."),
    degraded: z
      .array(z.strictObject({ agentId: z.string(), agentName: agentNameSchema, reason: z.string() }))
      .describe("Agents that could not be restored on this node."),
    failing: z.array(failingMessageSchema).describe("Waiting messages whose handling keeps failing."),
    failedJobs: z.array(z.strictObject({ id: z.string(), name: z.string(), error: z.string().optional() })),
  })
  .meta({ id: "Diagnosis" });

export const logLineSchema = z
  .looseObject({
    n: z.number().describe("Send the last one as `after`."),
    at: z.unknown(),
    level: z.string(),
    message: z.string(),
  })
  .meta({ id: "LogLine" });
export type LogLine = Document<typeof logLineSchema>;
