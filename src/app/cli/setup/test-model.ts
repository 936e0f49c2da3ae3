/** Asks the model one short question and says whether it answers, how fast, or what is wrong. */
import type { EngineApi } from "../../client/engine-api.ts";
import { type SentMessage, waitForReplies } from "../wait-for-replies.ts";

interface ModelTest {
  readonly isOk: boolean;
  readonly ms: number;
  readonly problem?: string;
}

export async function testModel(api: EngineApi): Promise<ModelTest> {
  const from = performance.now();
  const body = { thread: "setup", text: "Answer with the word ready." };
  const { messages } = await api.post<{ messages: readonly SentMessage[] }>("/api/terminal/messages", body);
  const [sent] = messages;
  if (!sent) return { isOk: false, ms: 0, problem: "the message was not accepted" };
  const { replies, unanswered } = await waitForReplies(api, sent);
  const ms = Math.round(performance.now() - from);
  const failed = replies.find(({ isError }) => isError);
  if (failed) return { isOk: false, ms, problem: failed.text };
  return replies.length > 0 ? { isOk: true, ms } : { isOk: false, ms, problem: unanswered?.reason };
}
