/** `rookery agents inbox`: lists the messages of an agent, or those of all agents that got no answer, and drops one that waits. */

import { UsageError } from "../../../core/errors.ts";
import { shortId } from "../../../core/ids.ts";
import type { Message, MessageState } from "../../../core/message/message.ts";
import { withoutIds } from "../../../core/message/without-ids.ts";
import type { InboxMessage } from "../../client/resources.ts";
import { reading, withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Options } from "../command.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { upTo } from "../up-to.ts";

const LIMIT = 50;

const OPTIONS = {
  failed: { type: "boolean", description: "only messages that failed or were stopped, dropped or discarded" },
  state: { type: "string", value: "STATE", multiple: true, description: "only messages in this state" },
  before: {
    type: "string",
    value: "N",
    description: "only messages before this number, or the `next` of a page of all agents",
  },
  limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  drop: { type: "string", value: "N", description: "drops the message with this number, if it waits" },
} as const satisfies Options;

export const inboxAction = defineAction({
  summary: "list the messages of an agent and their outcomes",
  usage: "[agent id, key or name]",
  description:
    "Newest first. A dropped or failed message shows the policy or error that caused it. --failed lists the messages without an answer, of all agents unless you name one.",
  arguments: { min: 0, max: 1 },
  options: OPTIONS,
  async run(context) {
    const {
      flags,
      args: [who],
    } = context;
    if (who === undefined) return listFailed(context);
    const drop = numberFlag(flags.drop, "--drop");
    if (drop !== undefined) {
      const path = `/api/agents/${encodeURIComponent(who)}/messages/${drop}/drop`;
      const dropped = (await withApi(context, (api) => api.ask({ method: "POST", path }))) as Message;
      return printResult(context, dropped, `Message ${dropped.seq} is ${dropped.state}: ${dropped.reason}.`);
    }
    const states = await statesOf(flags.state ?? [], flags.failed === true);
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

/** The messages of all agents that got no answer. */
async function listFailed(context: CommandContext<typeof OPTIONS>): Promise<undefined> {
  const { failed, state, drop, limit, before } = context.flags;
  if (!failed || state || drop !== undefined)
    throw new UsageError("Name an agent, or use --failed alone.", {
      hint: "`rookery agents inbox --failed` lists the messages of all agents that got no answer.",
    });
  const page = await reading(context, (rookery) =>
    upTo(limitFlag(limit, LIMIT), before, (count, from) =>
      rookery.agents.inbox({ state: "unanswered", limit: count, before: from }),
    ),
  );
  return printList(context, { ...page, line: failedLine, empty: "Every message has an answer." });
}

/** The schema of messages is loaded here only: `agents list` does not need it. */
async function statesOf(words: readonly string[], failed: boolean): Promise<readonly MessageState[]> {
  if (words.length === 0 && !failed) return [];
  const { messageStateSchema, UNANSWERED_STATES } = await import("../../../core/message/message.ts");
  const named = words.map((word) => {
    const parsed = messageStateSchema.safeParse(word);
    if (parsed.success) return parsed.data;
    throw new UsageError(`"${word}" is not a message state.`, {
      hint: `States: ${messageStateSchema.options.join(", ")}.`,
    });
  });
  return failed ? [...named, ...UNANSWERED_STATES] : named;
}

function line({ seq, state, acceptedAt, body, reason, runId }: Message): string {
  const short = oneLine(withoutIds("text" in body ? (body.text ?? "") : ""), 60);
  const why = reason ? ` (${reason})` : "";
  return `${String(seq).padStart(5)}  ${relativeTime(acceptedAt, Date.now()).padEnd(12)}  ${state.padEnd(9)} ${body.kind.padEnd(7)} ${short}${why}${runId ? `  run ${shortId(runId)}` : ""}`;
}

function failedLine({
  agentName = "an agent that is gone",
  seq,
  state,
  settledAt,
  text,
  reason,
  runId,
}: InboxMessage): string {
  const why = reason ? ` (${oneLine(reason, 200)})` : "";
  return `${relativeTime(settledAt, Date.now()).padEnd(12)}  ${state.padEnd(9)} ${oneLine(agentName, 80)} ${seq}: ${oneLine(text, 60)}${why}${runId ? `  run ${shortId(runId)}` : ""}`;
}
