/**
 * What programs may ask of an agent beside writing to it. Whoever asks writes nothing himself: what is wrong is refused at
 * once, the rest is posted, durable when it resolves, and done by the agent's owner in its turn (M1).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { patchState, type StatePatch } from "../../core/agent/patch-state.ts";
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AgentId, EntryId } from "../../core/ids.ts";
import type { MessageBody } from "../../core/message/message.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { readSession } from "../context/session-entries.ts";

type Reading = Pick<StoreReader, "agent" | "linesBack">;

/** Far more than anybody reads; a summary is what the model is told instead of a whole branch. */
const MAX_SUMMARY = 100_000;

/** The message that changes overrides. Throws where a field is not settable or a value is wrong. */
export async function settingMessage(store: Reading, agentId: AgentId, patch: StatePatch): Promise<MessageBody> {
  const { state } = await known(store, agentId);
  patchState(state, patch);
  return { kind: "setting", patch: { ...patch } };
}

/** The message that goes back to an entry. Throws where the entry is not of the current session. */
export async function branchMessage(
  store: Reading,
  agentId: AgentId,
  entryId: EntryId,
  summary?: string,
): Promise<MessageBody> {
  if ((summary?.length ?? 0) > MAX_SUMMARY) {
    throw new InvalidInputError(`A summary has at most ${MAX_SUMMARY} characters.`);
  }
  const { sessionId } = await known(store, agentId);
  const { entries } = await readSession(store, agentId, sessionId);
  if (!entries.some((entry) => entry.type !== "session" && entry.id === entryId)) {
    throw new NotFoundError(`The entry ${entryId} is not part of the current session.`, {
      hint: "Only entries since the last start or reset can be gone back to; `rookery history --json` shows their ids.",
    });
  }
  return { kind: "branch", entryId, ...(summary ? { summary } : {}) };
}

async function known(store: Reading, agentId: AgentId): Promise<AgentRecord> {
  const agent = await store.agent(agentId);
  if (!agent) throw new NotFoundError(`There is no agent ${agentId}.`);
  return agent;
}
