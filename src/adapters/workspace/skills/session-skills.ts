/**
 * The skills of a session. The first prompt of a session names the skills that are there then. The commit of its answer stores that as
 * `skillsSnapshot`, and the session keeps it until it is reset: neither its prompt nor the instructions change under it, also not by a
 * restart. The texts are kept by their hashes before the snapshot is.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { type SkillsSnapshot, skillsSnapshotSchema } from "../../../core/agent/skills-snapshot.ts";
import { OWNER } from "../../../core/people/person.ts";
import { shortDescription } from "../../../engine/context/prompt/system-prompt.ts";
import type { VersionTexts } from "../changes/version-texts.ts";
import type { FoundSkill } from "./find-skills.ts";

const MAX_SESSIONS = 2_000;
/** More skills have no description in the prompt, and no place in the snapshot. */
const MAX_SKILLS = 100;

export interface SessionSkills {
  /** Those of the agent's session. */
  of(agent: AgentRecord): Promise<SkillsSnapshot["skills"]>;
  /** The snapshot to store; undefined if the session has one. Its texts are durable when it resolves. */
  snapshotOf(agent: AgentRecord): Promise<SkillsSnapshot | undefined>;
}

interface SkillParts {
  find(places: { readonly workspace: string }): readonly FoundSkill[];
  workspaceOf(agent: AgentRecord): Promise<string>;
  /** Whether its file was written while untrusted text was in context: then it is no skill until someone has changed it (M32). */
  isMarked?(skill: FoundSkill): boolean;
  readonly texts?: Pick<VersionTexts, "put">;
}

export function sessionSkills({ find, workspaceOf, isMarked = () => false, texts }: SkillParts): SessionSkills {
  /** Of sessions whose snapshot is not stored yet. */
  const found = new Map<string, SkillsSnapshot>();
  const look = async (agent: AgentRecord): Promise<SkillsSnapshot> => {
    const key = `${agent.id} ${agent.sessionId}`;
    const known = found.get(key);
    if (known) return known;
    const skills = find({ workspace: await workspaceOf(agent) }).filter((skill) => !isMarked(skill));
    for (const { text } of skills.slice(0, MAX_SKILLS)) await texts?.put(text);
    if (found.size >= MAX_SESSIONS) found.clear();
    const snapshot: SkillsSnapshot = { version: 1, skills: skills.slice(0, MAX_SKILLS).map(inSnapshot) };
    found.set(key, snapshot);
    return snapshot;
  };
  return {
    async of(agent) {
      if (!isOwners(agent)) return [];
      return (storedIn(agent) ?? (await look(agent))).skills;
    },
    async snapshotOf(agent) {
      return isOwners(agent) && !storedIn(agent) ? look(agent) : undefined;
    },
  };
}

/** The instructions of skills are for the owner's agents: others cannot reach their files. */
const isOwners = ({ person }: AgentRecord): boolean => person === undefined || person === OWNER;

/** Older programs wrote others, which are not used. */
const storedIn = ({ state }: AgentRecord): SkillsSnapshot | undefined =>
  state?.skillsSnapshot === undefined ? undefined : skillsSnapshotSchema.safeParse(state.skillsSnapshot).data;

function inSnapshot({
  name,
  description,
  directory,
  hash,
  allowedTools,
}: FoundSkill): SkillsSnapshot["skills"][number] {
  const { text, more } = shortDescription(description);
  const tools = allowedTools && [...allowedTools];
  return { name, description: text, more, directory, hash, tools };
}
