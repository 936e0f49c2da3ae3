/**
 * The skills of a session. An agent keeps those that it found at the first prompt of its session, so that neither its prompt nor the
 * instructions change under it; a reset, or a new start of the program, looks again.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { FoundSkill } from "./find-skills.ts";

const MAX_SESSIONS = 2_000;

export function sessionSkills(
  find: (places: { readonly workspace: string }) => readonly FoundSkill[],
  workspaceOf: (agent: AgentRecord) => Promise<string>,
  /** Whether its file was written while untrusted text was in context: then it is no skill until someone has changed it (M32). */
  isMarked: (skill: FoundSkill) => boolean = () => false,
): (agent: AgentRecord) => Promise<readonly FoundSkill[]> {
  const kept = new Map<string, readonly FoundSkill[]>();
  return async (agent) => {
    // The instructions of skills are for the owner's agents: others cannot reach their files.
    if (agent.person !== undefined && agent.person !== OWNER) return [];
    const key = `${agent.id} ${agent.sessionId}`;
    const known = kept.get(key);
    if (known) return known;
    if (kept.size >= MAX_SESSIONS) kept.clear();
    const skills = find({ workspace: await workspaceOf(agent) }).filter((skill) => !isMarked(skill));
    kept.set(key, skills);
    return skills;
  };
}
