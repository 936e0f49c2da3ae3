/** A store made of records: agents by name, each with its parent. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { Op } from "../../core/store/change.ts";

export const NOW = 1_000_000;
export type Made = { parent?: string; more?: object };

/** Agents by name; one with a parent is its child. */
export function world(agents: Record<string, Made>, runs: readonly Partial<SubagentRunRecord>[] = []) {
  const record = (name: string): AgentRecord | undefined => {
    const made = agents[name];
    if (!made) return undefined;
    const descriptor = made.parent
      ? { type: "subagent", id: name, parentAgentId: made.parent, name: `the ${name}` }
      : { type: "user", connector: "test", userId: name, channelId: name };
    return {
      ...{
        id: name,
        sessionKey: `key:${name}`,
        profile: "main",
        descriptor,
        state: { updatedAt: 1, stats: {} },
        waiting: 0,
        createdAt: 1,
      },
      ...made.more,
    } as unknown as AgentRecord;
  };
  const asked: object[] = [];
  const committed: Op[][] = [];
  const byParent = (parent: string) => Object.keys(agents).filter((name) => agents[name]?.parent === parent);
  const store = {
    agent: async (id: string) => record(id),
    agentByKey: async (key: string) => record(key.slice(4)),
    roots: async ({ limit, after }: { limit: number; after?: string }) => {
      const names = Object.keys(agents).filter((name) => !agents[name]?.parent);
      asked.push({ roots: limit });
      const from = after === undefined ? 0 : names.indexOf(after) + 1;
      return names.slice(from, from + limit).map(record);
    },
    children: async (id: string, { limit, after = "" }: { limit: number; after?: string }) => {
      asked.push({ id, limit });
      return byParent(id)
        .filter((name) => name > after)
        .slice(0, limit)
        .map(record);
    },
    subagentRuns: async ({
      requesterSessionKey,
      dueBy,
      limit,
    }: {
      requesterSessionKey?: string;
      dueBy?: number;
      limit?: number;
    } = {}) =>
      runs
        .filter((run) => requesterSessionKey === undefined || run.requesterSessionKey === requesterSessionKey)
        .filter((run) => dueBy === undefined || (run.archiveAtMs !== undefined && run.archiveAtMs <= dueBy))
        .slice(0, limit),
    subagentRun: async (id: string) => runs.find(({ runId }) => runId === id),
    openSubagentRuns: async (key: string) =>
      runs.filter((run) => run.requesterSessionKey === key && run.endedAt === undefined).length,
    waits: async ({ from }: { from: string }) => (from === "busy" ? [{ to: "x" }] : []),
    budget: async (key: string) => (key === "tree:root" ? { spent: { tokens: 9 } } : undefined),
    linesBack: async () => [],
    commit: async ({ ops }: { ops: Op[] }) => {
      committed.push(ops);
      return { ok: true, results: [] };
    },
  };
  return { store: store as never, record: (name: string) => record(name) as AgentRecord, asked, committed };
}
export const names = (agents: readonly AgentRecord[]): string[] => agents.map(({ id }) => id);
