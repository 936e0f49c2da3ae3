/** Tells a caller who asked for it what a run does while it waits for the answer. */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { AnswerEvent } from "../../client/stream-answer.ts";

type Tell = (message: string) => Promise<void>;

const MAX_MESSAGE = 200;
/** Pieces of an answer are told together. */
const TOLD_EVERY = 400;

/** Undefined if the caller does not want progress. */
export function progressTeller({ _meta, notify }: ServerContext["mcpReq"]): Tell | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return async (message) => {
    progress++;
    await notify({
      method: "notifications/progress",
      params: { progressToken, progress, message: message.slice(0, MAX_MESSAGE).toWellFormed() },
    });
  };
}

/** Never throws: an answer without progress is still an answer. */
export async function tellProgress(events: AsyncIterable<AnswerEvent>, tell: Tell): Promise<void> {
  let said = 0;
  let told = 0;
  let begun = false;
  try {
    for await (const event of events) {
      if (!begun) await tell("The agent works on it.");
      begun = true;
      if (event.type === "tool_start") await tell(`Uses ${event.name}.`);
      else if (event.type === "compaction_start") await tell("Summarises the conversation so far.");
      else if (event.type === "delta") {
        said += event.text.length;
        if (said - told < TOLD_EVERY) continue;
        told = said;
        await tell(`Writes the answer: ${said} characters.`);
      }
    }
  } catch {
    // The caller is gone, or the stream is.
  }
}
