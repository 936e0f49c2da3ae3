/**
 * The fields of clawdbot's `SessionEntry` that an agent's state keeps, under the same names. Data with its own column or row (the
 * session id, waiting messages, runs) is not here. Values are read leniently, because older programs wrote them; values from
 * a person or a tool go through `patchState`, which is strict.
 */
import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";
import { queueDropPolicySchema, queueModeSchema } from "../message/queue.ts";
import { systemPromptReportSchema } from "./system-prompt-report.ts";

const OLDER_CHAT_TYPES: Readonly<Record<string, string>> = { channel: "room", dm: "direct" };

const chatTypeSchema = z.preprocess(
  (value) => (typeof value === "string" && Object.hasOwn(OLDER_CHAT_TYPES, value) ? OLDER_CHAT_TYPES[value] : value),
  z.enum(["direct", "group", "room"]),
);
export type SessionChatType = z.infer<typeof chatTypeSchema>;

const text = z.string().optional();
const count = z.number().optional();
const flag = z.boolean().optional();

export const sessionEntryFields = {
  /** Written when an agent is created or imported. */
  sessionFile: text,
  spawnedBy: text,
  chatType: chatTypeSchema.optional(),
  channel: text,
  groupId: text,
  subject: text,
  groupChannel: text,
  space: text,
  origin: z.looseObject({ label: text, provider: text, from: text, to: text, accountId: text }).optional(),

  /** Written by runs. */
  systemSent: flag,
  abortedLastRun: flag,
  inputTokens: count,
  outputTokens: count,
  totalTokens: count,
  contextTokens: count,
  modelProvider: text,
  model: text,
  systemPromptReport: systemPromptReportSchema.optional(),
  skillsSnapshot: z.looseObject({}).optional(),
  cliSessionIds: z.record(z.string(), z.string()).optional(),
  claudeCliSessionId: text,

  /** The origin of the last message, for people. A reply goes to the origin of the message it answers. */
  deliveryContext: deliveryContextSchema.optional(),
  lastChannel: text,
  lastTo: text,
  lastAccountId: text,
  lastThreadId: z.union([z.string(), z.number()]).optional(),

  /** Written by compaction and the memory flush before it. */
  compactionCount: count,
  memoryFlushAt: count,
  memoryFlushCompactionCount: count,

  /** Written by the heartbeat. */
  lastHeartbeatDeliveryId: text,
  lastHeartbeatText: text,
  lastHeartbeatSentAt: count,

  /** Set by a person or a tool, through `patchState`. */
  thinkingLevel: text,
  verboseLevel: text,
  reasoningLevel: text,
  elevatedLevel: text,
  execHost: text,
  execSecurity: text,
  execAsk: text,
  execNode: text,
  providerOverride: text,
  modelOverride: text,
  authProfileOverride: text,
  authProfileOverrideSource: z.enum(["auto", "user"]).optional(),
  authProfileOverrideCompactionCount: count,
  groupActivation: z.enum(["mention", "always"]).optional(),
  groupActivationNeedsSystemIntro: flag,
  sendPolicy: z.enum(["allow", "deny"]).optional(),
  queueMode: queueModeSchema.optional(),
  queueDebounceMs: count,
  queueCap: count,
  queueDrop: queueDropPolicySchema.optional(),
  label: text,
  displayName: text,
  responseUsage: z.enum(["on", "off", "tokens", "full"]).optional(),
  extraSystemPrompt: text,
};
