/** `/again`: sends the last answers that may not have arrived once more. The person asks for the repetition (L12). */
import { withoutNotice } from "../outbox/around-reply.ts";
import { moveOp } from "../outbox/send-delivery.ts";
import type { ChatCommand } from "./chat-command.ts";
import { DAY_MS } from "./level-commands.ts";
import { nothing, reply } from "./words.ts";

export const againCommand: ChatCommand = {
  name: "again",
  help: "send the last answer again if it may not have arrived",
  who: "writers",
  reads: nothing,
  async run(_, { unconfirmed, person }) {
    const answers = await unconfirmed();
    const since = (answers[0]?.createdAt ?? 0) - DAY_MS;
    const last = answers.filter(({ createdAt }) => createdAt > since).toReversed();
    if (last.length === 0) return { text: reply("No answer here is unconfirmed.") };
    const move = { to: "pending", reason: `retried by ${person}`, toTail: true } as const;
    return {
      text: reply(last.length === 1 ? "Sent again." : `Sent ${last.length} messages again.`),
      ops: last.map((answer) => moveOp(answer, { ...move, payload: withoutNotice(answer) })),
    };
  },
};
