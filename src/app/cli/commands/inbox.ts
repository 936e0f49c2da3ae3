/** `rookery inbox`: lists the messages of an agent and their outcomes. */

import { InvalidInputError } from "../../../core/errors.ts";
import { type Message, type MessageState, messageStateSchema } from "../../../core/message/message.ts";
import { defineAction } from "../command.ts";
import { findAgent } from "../find-agent.ts";
import { readHome } from "../read-home.ts";

const LIMIT = 50;

export const inboxCommand = defineAction({
  summary: "list the messages of an agent and their outcomes",
  usage: "<agent id or session key>",
  description: "Newest first. A dropped or failed message shows the policy or error that caused it.",
  arguments: { min: 1, max: 1 },
  options: {
    state: { type: "string", value: "STATE", multiple: true, description: "only messages in this state" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  },
  async run({ args: [who = ""], flags, paths, json, stdout }) {
    const states = (flags.state ?? []).map(stateOf);
    const limit = Number(flags.limit ?? LIMIT);
    if (!Number.isInteger(limit) || limit < 1) throw new InvalidInputError("--limit takes a whole number above 0.");
    const messages = await readHome(paths, async (store) => {
      const { id } = await findAgent(store, who);
      return store.messages(id, { limit, states: states.length > 0 ? states : undefined });
    });
    if (json) stdout.write(`${JSON.stringify(messages)}\n`);
    else stdout.write(messages.length === 0 ? "No messages.\n" : `${messages.map(line).join("\n")}\n`);
    return undefined;
  },
});

function stateOf(text: string): MessageState {
  const parsed = messageStateSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidInputError(`"${text}" is not a message state.`, {
    hint: `States: ${messageStateSchema.options.join(", ")}.`,
  });
}

function line({ seq, state, acceptedAt, body, reason, runId }: Message): string {
  const text = "text" in body ? (body.text ?? "") : "";
  const short = text.replaceAll(/\s+/g, " ").slice(0, 60);
  const why = reason ? ` (${reason})` : "";
  return `${String(seq).padStart(5)}  ${new Date(acceptedAt).toISOString()}  ${state.padEnd(9)} ${body.kind.padEnd(7)} ${short}${why}${runId ? `  run ${runId}` : ""}`;
}
