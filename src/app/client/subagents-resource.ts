/** Subagents: the runs of children that agents or programs started. */
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { List } from "../../core/list.ts";
import type { RunRecord } from "../../core/run/run.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

export interface Subagents {
  /** Those that have not ended; of a `requester` (a session key), or with `all`, every one. Changes nothing. */
  list(filter?: { readonly requester?: string; readonly all?: boolean }): Promise<List<SubagentRunRecord>>;
  /** Its task, and its run if it works. Changes nothing. */
  get(run: string): Promise<{ readonly record: SubagentRunRecord; readonly run: RunRecord | null }>;
  /** A message into its current run, or as its next message. Durable when it resolves. */
  send(run: string, text: string): Promise<void>;
  /** Stops it and all its descendants; each of them still reports. Durable when it resolves. */
  stop(run: string): Promise<void>;
  /** Forgets one that has ended and reported. Durable when it resolves. */
  release(run: string): Promise<void>;
}

export const subagentsOf = (api: EngineApi): Subagents => ({
  list: (filter) => api.get("/api/subagents", { ...filter }),
  get: (run) => api.get(pathOf("api", "subagents", run)),
  async send(run, text) {
    await api.post(pathOf("api", "subagents", run, "messages"), { text });
  },
  async stop(run) {
    await api.post(pathOf("api", "subagents", run, "stop"));
  },
  async release(run) {
    await api.delete(pathOf("api", "subagents", run));
  },
});
