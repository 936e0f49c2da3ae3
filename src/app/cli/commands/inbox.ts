/** `rookery inbox`: lists the messages of an agent and their outcomes, and drops one that waits. */

import { UsageError } from "../../../core/errors.ts";
import { type Message, type MessageState, messageStateSchema } from "../../../core/message/message.ts";
import { reading, withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { upTo } from "../up-to.ts";

const LIMIT = 50;

export const inboxCommand = defineAction({
  summary: "list the messages of an agent and their outcomes",
  usage: "<agent id, key or name>",
  description: "Newest first. A dropped or failed message shows the policy or error that caused it.",
  arguments: { min: 1, max: 1 },
  options: {
    state: { type: "string", value: "STATE", multiple: true, description: "only messages in this state" },
    before: { type: "string", value: "N", description: "only messages before this number" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
    drop: { type: "string", value: "N", description: "drops the message with this number, if it waits" },
  },
  async run(context) {
    const {
      flags,
      args: [who = ""],
    } = context;
    const drop = numberFlag(flags.drop, "--drop");
    if (drop !== undefined) {
      const path = `/api/agents/${encodeURIComponent(who)}/messages/${drop}/drop`;
      const dropped = (await withApi(context, (api) => api.ask({ method: "POST", path }))) as Message;
      return printResult(context, dropped, `Message ${dropped.seq} is ${dropped.state}: ${dropped.reason}.`);
    }
    const states = (flags.state ?? []).map(stateOf);
    const limit = limitFlag(flags.limit, LIMIT);
    const before = numberFlag(flags.before, "--before");
    const state = states.length > 0 ? states : undefined;
    const page = await reading(context, async (rookery) => {
      const agent = rookery.agent((await rookery.agents.get(who)).id);
      return upTo(limit, before, (count, from) => agent.messages({ limit: count, before: from, state }));
    });
    return printList(context, { ...page, line, empty: "No messages." });
  },
});

function stateOf(text: string): MessageState {
  const parsed = messageStateSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`"${text}" is not a message state.`, {
    hint: `States: ${messageStateSchema.options.join(", ")}.`,
  });
}

function line({ seq, state, acceptedAt, body, reason, runId }: Message): string {
  const text = "text" in body ? (body.text ?? "") : "";
  const short = oneLine(text, 60);
  const why = reason ? ` (${reason})` : "";
  return `${String(seq).padStart(5)}  ${relativeTime(acceptedAt, Date.now()).padEnd(12)}  ${state.padEnd(9)} ${body.kind.padEnd(7)} ${short}${why}${runId ? `  run ${runId}` : ""}`;
}
