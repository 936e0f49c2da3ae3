/** A command with everything around it made up: its context, and what it answers. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { CommandContext, CommandReply } from "./chat-command.ts";
import { runChatCommand } from "./run-chat-command.ts";

export const ANN = "ann" as PersonId;
export const NOW = 1_000_000_000;
export type Changes = Omit<Partial<CommandContext>, "agent" | "approvals"> & {
  readonly agent?: object;
  readonly approvals?: Partial<CommandContext["approvals"]>;
  readonly denied?: string;
};

export function contextOf({ agent, approvals, denied, ...more }: Changes = {}, asked: Effect[] = []): CommandContext {
  return {
    agent: { id: "a1", person: ANN, state: { stats: {} }, ...agent } as unknown as AgentRecord,
    ...{ person: ANN, now: NOW, parts: {} },
    decide(effect) {
      asked.push(effect);
      return denied === undefined ? { verdict: "allow", reason: "" } : { verdict: "deny", reason: denied };
    },
    queue: () => ({ mode: "collect", debounceMs: 5, cap: 3, dropPolicy: "old" }),
    ...{ contextWindow: async () => undefined, turn: async () => undefined },
    spentSince: async () => ({ tokens: 0, dollars: 0 }),
    waits: async () => ({ waiting: [] }),
    unconfirmed: async () => [],
    ...more,
    approvals: {
      pending: async () => [],
      decide: async (id, { approve }) => approval({ id, state: approve ? "approved" : "denied" }),
      choice: async () => [],
      get: async () => approval(),
      ...approvals,
    },
  };
}
export const approval = (more: Partial<Approval> = {}): Approval =>
  ({ id: "kfmz" as ApprovalId, tool: "exec", state: "pending", digest: "d1", prompt: "rm x", ...more }) as Approval;
export const run = async (name: string, text: string, changes?: Changes): Promise<CommandReply> =>
  runChatCommand({ name, text }, contextOf(changes));
export const said = async (...args: Parameters<typeof run>): Promise<string> =>
  (await run(...args)).text.replace("⚙️ ", "");
