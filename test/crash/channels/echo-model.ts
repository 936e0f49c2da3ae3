/** A model that repeats the marks it was told, after a moment. One that reads "slow" waits for its Stop. */
import type { Model, ModelMessage } from "../../../src/core/ports/model.ts";

export const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const textOf = (message: ModelMessage): string =>
  message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
const about = { api: "scripted", provider: "scripted", model: "scripted", usage };

export const echoModel: Model = {
  async call({ messages }, signal, onEvent) {
    const last = messages.findLastIndex(({ role }) => role === "assistant");
    const said = messages
      .slice(last + 1)
      .map(textOf)
      .join("\n");
    onEvent({ type: "text", delta: "working on it" });
    const until = said.includes("slow") ? 4_000 : 20 + (said.length % 7) * 40;
    for (let waited = 0; waited < until && !signal.aborted; waited += 20) await pass(20);
    const tokens = [...new Set(said.match(/⟦\w+⟧/gu) ?? [])].join(" ");
    if (signal.aborted) {
      const error = { class: "aborted", message: "aborted" } as const;
      return { ...about, content: [], stopReason: "aborted", error };
    }
    return { ...about, content: [{ type: "text", text: `answer to ${tokens}` }], stopReason: "stop" };
  },
};
