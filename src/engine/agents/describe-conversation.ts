/** What a status line shows of a conversation: its model, how full its context is, its settings, today's cost. Changes nothing. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import type { Message } from "../../core/message/message.ts";
import type { QueueMode } from "../../core/message/queue.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RefusedKey } from "../../core/refused-key.ts";
import { spentSince } from "../budgets/budget-book.ts";
import type { ModelLogin } from "../commands/chat-command.ts";
import { queueSettingsFor } from "../inbox/queue-settings.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";

export interface DescribedConversation {
  readonly model: string | null;
  /** Why it is this model. */
  readonly why: string | null;
  readonly thinking: string | null;
  readonly verbose: string | null;
  readonly reasoning: string | null;
  readonly queueMode: QueueMode;
  /** Tokens of the last call, and how many there may be. */
  readonly context: { readonly used: number | null; readonly window: number | null };
  /** Of all agents that count, since midnight. */
  readonly today: { readonly tokens: number; readonly dollars: number };
  /** Accounts at providers that the node is logged in to. */
  readonly logins: readonly ModelLogin[];
  /** Keys that model providers refused. */
  readonly refusedKeys: readonly RefusedKey[];
}

export interface ConversationName {
  readonly agent?: AgentRecord;
  readonly profile: string;
  /** Where the person speaks. */
  readonly channel: string;
  /** Whose cost is the person's business. Absent: that of all agents. */
  readonly counts?: (agent: AgentRecord | undefined) => boolean;
}

const DAY_MS = 24 * 3600_000;

export async function describeConversation(
  { store, clock }: Pick<Ports, "store" | "clock">,
  options: Pick<AgentSystemOptions, "settings" | "commands" | "contextLimits">,
  { agent, profile, channel, counts }: ConversationName,
): Promise<DescribedConversation> {
  const now = clock.now();
  const settings = options.settings.current;
  const state = agent?.state ?? freshState(now);
  // The parts read the profile and the state only.
  const known = agent ?? ({ profile, state } as AgentRecord);
  const described = await options.commands?.models?.describe(known);
  const size = state.tokens?.size;
  const { tokens, dollars } = await spentSince({ store }, options.commands?.dayStart?.(now) ?? now - DAY_MS, counts);
  const sample = { body: { kind: "user", text: "" }, source: { connector: channel } } as Message;
  return {
    model: described?.model ?? state.tokens?.model ?? null,
    why: described?.why ?? null,
    thinking: described?.thinking ?? state.thinkingLevel ?? null,
    verbose: state.verboseLevel ?? null,
    reasoning: state.reasoningLevel ?? null,
    queueMode: queueSettingsFor(settings, sample, state).mode,
    context: {
      used: size ? size.input + size.cacheRead + size.cacheWrite + size.output : null,
      window: (await options.contextLimits?.(known, undefined, undefined, settings))?.contextWindow ?? null,
    },
    today: { tokens, dollars },
    logins: described?.logins ?? [],
    refusedKeys: described?.refusedKeys ?? [],
  };
}
