/**
 * What programs may change in an agent's session. A wrong request is refused at once. The rest is posted as a message, durable
 * when it resolves, and the agent's owner carries it out in the order of the inbox (M1).
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { patchState, type StatePatch } from "../../../core/agent/patch-state.ts";
import { InvalidInputError, NotFoundError, TooLargeError } from "../../../core/errors.ts";
import type { AgentId, EntryId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readSession } from "../../context/session-entries.ts";
import type { AcceptResult } from "../../inbox/accept.ts";
import { withGrant } from "../../rights/stored-rules.ts";
import type { Answers } from "../answers.ts";
import type { MessageIngress } from "../message-ingress.ts";

/** Far more than a person reads; the model gets the summary instead of the branch it replaces. */
const MAX_SUMMARY = 100_000;

type Reader = Pick<StoreReader, "agent" | "linesBack">;

/** Why an agent cannot have these settings, in whole sentences; undefined if it can. `patch`: what changes. */
type CheckSettings = (
  agent: Pick<AgentRecord, "profile" | "state">,
  patch: Readonly<Record<string, unknown>>,
) => Promise<string | undefined>;

/** The message that changes overrides. Throws if a field is not settable or a value is wrong. */
async function settingMessage(
  store: Reader,
  agentId: AgentId,
  patch: StatePatch,
  check?: CheckSettings,
): Promise<MessageBody> {
  const agent = await existing(store, agentId);
  const state = patchState(agent.state, patch);
  const problem = await check?.({ ...agent, state }, patch);
  if (problem !== undefined) throw new InvalidInputError(problem, { hint: "Nothing was changed." });
  return { kind: "setting", patch: { ...patch } };
}

/** The message that goes back to an entry. Throws if the entry is not part of the current session. */
export async function branchMessage(
  store: Reader,
  agentId: AgentId,
  entryId: EntryId,
  summary?: string,
): Promise<MessageBody> {
  if ((summary?.length ?? 0) > MAX_SUMMARY) {
    throw new TooLargeError(`A summary has at most ${MAX_SUMMARY} characters.`, { hint: "Send a shorter summary." });
  }
  const { sessionId } = await existing(store, agentId);
  const { entries } = await readSession(store, agentId, sessionId);
  if (!entries.some((entry) => entry.type !== "session" && entry.id === entryId)) {
    throw new NotFoundError(`The entry ${entryId} is not part of the current session.`, {
      hint: "You can go back only to entries since the last start or reset; `rookery sessions show --json` shows their ids.",
    });
  }
  return { kind: "branch", entryId, summary: summary || undefined };
}

async function existing(store: Reader, agentId: AgentId): Promise<AgentRecord> {
  const agent = await store.agent(agentId);
  if (!agent) throw new NotFoundError(`There is no agent ${agentId}.`);
  return agent;
}

type RuleChange = NonNullable<Extract<MessageBody, { kind: "setting" }>["rules"]>;

interface BranchOptions {
  readonly summary?: string;
  readonly timeoutMs?: number;
}

export class SessionControl {
  readonly #store: Reader;
  readonly #ingress: MessageIngress;
  readonly #answers: Answers;
  readonly #check: CheckSettings | undefined;

  constructor(store: Reader, ingress: MessageIngress, answers: Answers, check?: CheckSettings) {
    this.#check = check;
    this.#store = store;
    this.#ingress = ingress;
    this.#answers = answers;
  }

  /** Changes an agent's overrides. Durable when it resolves. */
  async patch(agentId: AgentId, patch: StatePatch): Promise<AcceptResult> {
    const body = await settingMessage(this.#store, agentId, patch, this.#check);
    return this.#ingress.post({ to: { agentId }, body });
  }

  /**
   * Gives an agent a rule, or takes one from it. Durable when it resolves; in force at the agent's next step, then for its children
   * too.
   */
  async changeRules(agentId: AgentId, rules: RuleChange): Promise<AcceptResult> {
    const { state } = await existing(this.#store, agentId);
    if (rules.add) patchState(state, { rules: withGrant(state.rules ?? [], rules.add) });
    return this.#ingress.post({ to: { agentId }, body: { kind: "setting", rules } });
  }

  /** Asks for a branch without waiting for it. Durable when it resolves. */
  async postBranch(agentId: AgentId, entryId: EntryId, summary?: string): Promise<AcceptResult> {
    const body = await branchMessage(this.#store, agentId, entryId, summary);
    return this.#ingress.post({ to: { agentId }, body });
  }

  /**
   * Goes back to an entry of the current session: the conversation continues from there. Resolves when the tip has moved;
   * after a timeout it still moves in its turn.
   */
  async branch(agentId: AgentId, entryId: EntryId, { summary, timeoutMs }: BranchOptions = {}): Promise<void> {
    const body = await branchMessage(this.#store, agentId, entryId, summary);
    await this.#answers.postAndAwait({ to: { agentId }, body }, { timeoutMs });
  }
}
