/** When contexts are compacted, what is kept, and the memory flush before. */
import { z } from "zod";
import { DEFAULT_COMPACTION } from "../../core/history/compaction-settings.ts";
import { section, text, wholeNumber } from "../values.ts";

export const compactionDefaults = DEFAULT_COMPACTION;

const tokens = (least = 0) => wholeNumber(least, 100_000_000);
const flag = () => z.boolean({ error: "expected true or false" });

const { memoryFlush } = compactionDefaults;

const memoryFlushSchema = section({
  enabled: flag()
    .default(memoryFlush.enabled)
    .describe("whether an agent may save important facts before its context is compacted"),
  softThresholdTokens: tokens()
    .default(memoryFlush.softThresholdTokens)
    .describe("how many tokens before the first compaction it may do so"),
  prompt: text("the text of the message to the agent").default(memoryFlush.prompt).describe("the message it gets"),
  systemPrompt: text("the system prompt of the agent")
    .default(memoryFlush.systemPrompt)
    .describe("an addition to its system prompt"),
}).prefault({});

export const compactionSchema = section({
  enabled: flag()
    .default(compactionDefaults.enabled)
    .describe("whether contexts are compacted automatically; `/compact` always works"),
  reserveTokens: tokens()
    .default(compactionDefaults.reserveTokens)
    .describe("room for the next turn: compaction starts if less is left of the window"),
  reserveTokensFloor: tokens()
    .default(compactionDefaults.reserveTokensFloor)
    .describe("the minimum of the setting above; 0 means no minimum"),
  keepRecentTokens: tokens(1)
    .default(compactionDefaults.keepRecentTokens)
    .describe("how much of the end is kept unchanged"),
  emergencyContextLimit: tokens(1)
    .default(compactionDefaults.emergencyContextLimit)
    .describe(
      "the largest context, never above the model's window. Compaction starts in the background at 75 %, and before the next turn at 90 %",
    ),
  memoryFlush: memoryFlushSchema,
})
  .prefault({})
  .meta({ description: "when contexts are compacted, and what is kept", page: "context.md" });
