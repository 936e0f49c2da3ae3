/** Finds the messages that got no answer for the lines of a history, so that none disappears from it (M45). */
import type { AgentId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { type UnansweredMessage, unansweredMessage, wasTaken } from "../../../core/message/unanswered-message.ts";
import type { StoreReader } from "../../../core/store/store.ts";

/** How many messages after the last one of a line are looked at. */
const MAX_FOLLOWING = 50;

/** An entry as it was written. */
interface Recorded {
  readonly type?: unknown;
  readonly seqs?: unknown;
}

/**
 * For each entry the messages without an answer that it records, and those without an entry that came after them: the queue
 * dropped them, or no run took them. Undefined if there are none.
 */
export async function unansweredIn(
  store: Pick<StoreReader, "message">,
  agentId: AgentId,
  entries: readonly (Recorded | undefined)[],
): Promise<readonly (readonly UnansweredMessage[] | undefined)[]> {
  const recorded = new Set(entries.flatMap(seqsOf));
  const read = new Map<number, Promise<Message | undefined>>();
  const messageOf = (seq: number): Promise<Message | undefined> => {
    const known = read.get(seq) ?? store.message(agentId, seq);
    read.set(seq, known);
    return known;
  };
  const following = async (last: number): Promise<readonly Message[]> => {
    const found: Message[] = [];
    for (let seq = last + 1; seq <= last + MAX_FOLLOWING && !recorded.has(seq); seq++) {
      const message = await messageOf(seq);
      if (!message || hasEntry(message)) break;
      found.push(message);
    }
    return found;
  };
  return Promise.all(
    entries.map(async (entry) => {
      const seqs = seqsOf(entry);
      if (seqs.length === 0) return undefined;
      const own = await Promise.all(seqs.map(messageOf));
      const all = [...own, ...(await following(Math.max(...seqs)))];
      const unanswered = all.flatMap((message) => (message && unansweredMessage(message)) ?? []);
      return unanswered.length === 0 ? undefined : unanswered;
    }),
  );
}

/** The beginning of a history stands for a message before the first one. */
function seqsOf(entry: Recorded | undefined): readonly number[] {
  if (entry?.type === "start") return [0];
  return Array.isArray(entry?.seqs) ? entry.seqs.filter((seq) => Number.isSafeInteger(seq)) : [];
}

/** Commands are in no history. */
const hasEntry = (message: Message): boolean =>
  message.state !== "waiting" &&
  wasTaken(message) &&
  (message.runId !== undefined || message.state === "recorded") &&
  ENTRIES.has(message.body.kind);
const ENTRIES: ReadonlySet<string> = new Set(["user", "system", "trigger", "report", "permission"]);
