/** When contexts are compacted, what is kept, and the memory flush before. */
import { z } from "zod";
import { DEFAULT_COMPACTION } from "../../core/history/compaction-settings.ts";
import { section, text, wholeNumber } from "../values.ts";

export const compactionDefaults = DEFAULT_COMPACTION;

const tokens = (least = 0) => wholeNumber(least, 100_000_000);
const flag = () => z.boolean({ error: "expected true or false" });

const { memoryFlush } = compactionDefaults;

const memoryFlushSchema = section({
  enabled: flag().default(memoryFlush.enabled),
  softThresholdTokens: tokens().default(memoryFlush.softThresholdTokens),
  prompt: text("the text of the message to the agent").default(memoryFlush.prompt),
  systemPrompt: text("the system prompt of the agent").default(memoryFlush.systemPrompt),
}).prefault({});

export const compactionSchema = section({
  enabled: flag().default(compactionDefaults.enabled),
  reserveTokens: tokens().default(compactionDefaults.reserveTokens),
  reserveTokensFloor: tokens().default(compactionDefaults.reserveTokensFloor),
  keepRecentTokens: tokens(1).default(compactionDefaults.keepRecentTokens),
  emergencyContextLimit: tokens(1).default(compactionDefaults.emergencyContextLimit),
  memoryFlush: memoryFlushSchema,
}).prefault({});
