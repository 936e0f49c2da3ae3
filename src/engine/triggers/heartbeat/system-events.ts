/**
 * Events that wait for the next heartbeat: silent messages of triggers in the main conversation that no run has taken yet.
 * They are found by their place in the inbox, not by time: after the latest message that a run took.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { isSilent, type Message, messageText } from "../../../core/message/message.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { wallTime } from "../cron/describe-schedule.ts";

const MAX_COUNT = 20;
/** How many messages are read: more than enough for the messages between two runs. */
const LOOK_BACK = 200;
/** Runs without messages (a memory flush) come between runs that took some. */
const RUNS_BACK = 20;

export async function unseenEvents(store: StoreReader, main: AgentRecord): Promise<readonly Message[]> {
  const runs = await store.runs(main.id, { limit: RUNS_BACK });
  const seen = Math.max(0, ...runs.flatMap(({ body }) => body.seqs));
  const messages = await store.messages(main.id, { limit: LOOK_BACK });
  const fresh = messages.filter(({ seq, body }) => seq > seen && isSilent(body) && isUnheard(body)).toReversed();
  return fresh
    .filter((message, index) => messageText(message.body) !== messageText(fresh[index - 1]?.body ?? EMPTY))
    .slice(-MAX_COUNT);
}

const EMPTY: Message["body"] = { kind: "system", text: "" };

/** Whether it comes from a trigger, and its person has not got the words in another way. */
const isUnheard = (body: Message["body"]): boolean =>
  body.kind === "system" && body.said === undefined && /^(?:cron|heartbeat|webhook):/u.test(body.origin ?? "");

/** The message that makes the main agent handle the events, which are already in its history. */
export const eventsText = (events: readonly Message[], zone: string): string =>
  [
    ...events.map(({ body, acceptedAt }) => `System: [${wallTime(acceptedAt, zone)}] ${messageText(body)}`),
    "Handle these events now. If nothing needs attention, reply HEARTBEAT_OK.",
  ].join("\n");
