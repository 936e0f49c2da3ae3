/** The directories that paths in rules are relative to: the real path of an agent's own files, and the home of this user. */
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import type { WorkspaceOf } from "./workspaces.ts";

export const rulePlaces =
  (workspaceOf: WorkspaceOf) =>
  async (agent: AgentRecord): Promise<Place> => {
    const { own } = await workspaceOf(agent);
    return { workspace: own && (await realpath(own).catch(() => own)), home: homedir() };
  };
