/**
 * The system prompt of an agent, put together from its profile, its kind and its workspace. The same sources
 * always give the same bytes, because providers cache prompts: nothing depends on the time or on a random order.
 */
import type { AgentDescriptor, AgentKind } from "../../../core/agent/descriptor.ts";
import type { SkillsSnapshot } from "../../../core/agent/skills-snapshot.ts";
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import type { SystemPromptReport } from "../../../core/agent/system-prompt-report.ts";
import { unreachable } from "../../../core/errors.ts";
import { SMALL_WINDOW } from "../../../core/history/compaction-settings.ts";
import { kindOfPerson, type PersonId, type Role } from "../../../core/people/person.ts";
import { buildSubagentSystemPrompt, isSubagentContext } from "./subagent-prompt.ts";

const DEFAULT_PROMPT = "You are a helpful assistant. Answer briefly and truthfully.";

/** In the order of the prompt: files that seldom change come first, so that a provider's cache reaches far. */
export const WORKSPACE_FILES = ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md"] as const;
/** About the person an agent belongs to. The others are instructions of the owner. */
export const PERSONAL_FILES: readonly string[] = ["USER.md", "MEMORY.md"];
/** Subagents get what they need to work, and nothing about the person or from memory. */
const MINIMAL_FILES: readonly string[] = ["AGENTS.md", "TOOLS.md"];

export const MAX_FILE_CHARACTERS = 20_000;

/** The text of a workspace file by name; undefined if there is none. May be cut already, beyond the limit. */
export type ReadWorkspaceFile = (name: string) => string | undefined;

/** Agents of a swarm talk to strangers: they see the memory only if the swarm shares it. */
const SHARED_MEMORY: readonly string[] = ["MEMORY.md"];

export interface PromptSources {
  readonly descriptor: AgentDescriptor;
  /** The profile's own prompt. */
  readonly profilePrompt?: string;
  /** Of the model that is sent it. Default: large. In a small one files are cut short. */
  readonly contextWindow?: number;
  /** The directory of the agent's files. Absent: it has none. */
  readonly workspace?: string;
  /** Another directory that it may read. */
  readonly shared?: string;
  readonly readFile: ReadWorkspaceFile;
  /** Whether this text of a file was written with untrusted text in context (M32). Default: never. */
  readonly isMarked?: (name: string, text: string) => boolean;
  readonly permanentAgents?: readonly PermanentAgent[];
  /** What of its person's notes enters the prompt. Default: MEMORY.md, and the notes of no day. */
  readonly notes?: { readonly main?: boolean; readonly days?: readonly string[] };
  /** Instructions that the agent can look up. */
  readonly skills?: readonly PromptSkill[];
  readonly extraSystemPrompt?: string;
  /** The prompt of a system agent, and whether it replaces the rest. */
  readonly systemAgent?: { readonly prompt: string; readonly replacesSystemPrompt: boolean };
  /** The swarm whose contact the agent serves. */
  readonly swarm?: Pick<SwarmRecord, "nametag" | "firstName" | "lastName" | "about" | "systemPrompt" | "memory">;
  /** The person an agent belongs to, if that is not the owner. */
  readonly person?: { readonly id: PersonId; readonly name?: string; readonly role: Role };
  /** The task of a subagent, if it is known in more detail than its name. */
  readonly task?: string;
}

interface PromptSkill {
  readonly name: string;
  readonly description: string;
  /** Characters of the description that are left out already. */
  readonly more?: number;
}

export interface PermanentAgent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Its display name on screens, beside its name. */
  readonly username?: string;
}

export interface SystemPrompt {
  readonly text: string;
  readonly report: SystemPromptReport;
  /** The skills that it names, if the session has no snapshot of them yet. */
  readonly skillsSnapshot?: SkillsSnapshot;
}

/** Agents with one task, or that talk to strangers, do not see the other agents. */
const KNOW_NOBODY: ReadonlySet<AgentKind> = new Set(["subagent", "swarm"]);

type Part = SystemPromptReport["parts"][number] & { readonly text: string };

export function buildSystemPrompt(sources: PromptSources): SystemPrompt {
  const { descriptor, permanentAgents = [], extraSystemPrompt = "" } = sources;
  const files = workspaceParts(sources);
  const parts = [
    part("prompt", "profile", firstWords(sources)),
    part("person", "kind", personText(sources)),
    part(descriptor.type, "kind", extraSystemPrompt && isSubagentContext(extraSystemPrompt) ? "" : kindText(sources)),
    ...files.parts,
    skillsPart(KNOW_NOBODY.has(descriptor.type) ? [] : (sources.skills ?? [])),
    part("permanent agents", "agents", KNOW_NOBODY.has(descriptor.type) ? "" : permanentAgentsText(permanentAgents)),
    part("extra", "extra", extraSystemPrompt.trim()),
  ].filter(({ text }) => text !== "");
  const text = parts.map((one) => one.text).join("\n\n");
  const report = {
    chars: text.length,
    parts: parts.map(({ text: _, ...about }) => about),
    missing: [...files.missing],
  };
  return { text, report };
}

const part = (name: string, source: Part["source"], text: string): Part => ({ name, source, text, chars: text.length });

/** Who the agent is: a permanent agent's own prompt replaces the profile's. */
function firstWords({ descriptor, profilePrompt, systemAgent, swarm }: PromptSources): string {
  if (descriptor.type === "permanent") return descriptor.systemPrompt.trim();
  if (descriptor.type === "swarm" && swarm) return swarm.systemPrompt.trim();
  if (descriptor.type === "system" && systemAgent?.replacesSystemPrompt) return systemAgent.prompt.trim();
  return profilePrompt?.trim() || DEFAULT_PROMPT;
}

/** One line, the same in every run of the agent: who it is that speaks in its conversation. */
function personText({ person }: PromptSources): string {
  if (!person) return "";
  if (kindOfPerson(person.id) === "group") {
    return "This is the conversation of a group. A <speaker> line before a message says who wrote it.";
  }
  const name = person.name === undefined ? "" : `${line(person.name)}, `;
  return `You work for ${name}${safe(person.id)} (${person.role}). A <speaker> line before a message says that someone else wrote it.`;
}

function kindText({ descriptor, task, systemAgent, swarm }: PromptSources): string {
  switch (descriptor.type) {
    case "user":
      return "";
    case "cron":
      return "You are a scheduled task. Nobody reads along here: do what the task says, then end with its result.";
    case "heartbeat":
      return "You are the heartbeat. You are woken from time to time to look after what is due, and rest in between.";
    case "system":
      return [
        `You are the system agent "${descriptor.tag}". Other agents and the system itself write to you.`,
        ...(systemAgent && !systemAgent.replacesSystemPrompt ? ["", "## Agent Prompt", systemAgent.prompt.trim()] : []),
      ].join("\n");
    case "swarm":
      return [
        ...(swarm ? [`You are @${swarm.nametag}, ${line([swarm.firstName, swarm.lastName ?? ""].join(" "))}.`] : []),
        ...(swarm?.about ? [line(swarm.about)] : []),
        "You serve one contact of a swarm. What this contact tells you is for this conversation only.",
        "What you say at the end is seen by nobody unless the contact waits for it; send_agent_message reaches the contact.",
      ].join("\n");
    case "permanent":
      return `You are the permanent agent "${line(descriptor.name)}": ${line(descriptor.description)}`;
    case "subagent":
      return buildSubagentSystemPrompt({ task, label: descriptor.name });
    default:
      return unreachable(descriptor, "descriptor");
  }
}

/** In a small window all files together get a quarter of it: four characters are about a token, so one for each token. */
const fileLimit = (contextWindow: number, files: number): number =>
  contextWindow < SMALL_WINDOW
    ? Math.floor(contextWindow / Math.max(files, WORKSPACE_FILES.length))
    : MAX_FILE_CHARACTERS;

function workspaceParts(sources: PromptSources) {
  const { descriptor, workspace, shared, readFile, isMarked, swarm, contextWindow = SMALL_WINDOW } = sources;
  const parts: Part[] = [];
  const missing: string[] = [];
  const names = filesFor(descriptor.type, swarm?.memory, sources.notes);
  const limit = fileLimit(contextWindow, names.length);
  for (const name of names) {
    const whole = readFile(name) ?? "";
    const content = whole.trim();
    if (content === "") {
      missing.push(name);
      continue;
    }
    const { text, cutFrom } = cutText(content, limit, name);
    const untrusted = isMarked?.(name, whole) ? true : undefined;
    parts.push({ ...part(name, "file", `# ${name}\n${text}`), cutFrom, limit, untrusted });
  }
  // Agents of a swarm have no tools for the workspace.
  if (descriptor.type === "swarm" || workspace === undefined) return { parts, missing };
  const about = [
    `# Workspace\nYour files are in ${workspace}.`,
    shared === undefined ? [] : `You can read the files in ${shared}.`,
    parts.length > 0 ? "These of them are part of this prompt:" : [],
  ].flat();
  return { parts: [part("workspace", "file", about.join(" ")), ...parts], missing };
}

function filesFor(kind: AgentKind, sharesMemory = false, notes: PromptSources["notes"] = {}): readonly string[] {
  if (kind === "swarm") return sharesMemory ? SHARED_MEMORY : [];
  if (kind === "subagent") return MINIMAL_FILES;
  const { main = true, days = [] } = notes;
  return [...WORKSPACE_FILES.filter((name) => main || name !== "MEMORY.md"), ...days];
}

/** The beginning of a text, whole characters only, with a note about the rest. */
function cutText(text: string, limit: number, name: string): { readonly text: string; readonly cutFrom?: number } {
  if (text.length <= limit) return { text };
  const end = text.slice(0, limit).isWellFormed() ? limit : limit - 1;
  const note = `[${name} is cut here: ${end} of ${text.length} characters are shown; read the file for the rest]`;
  return { text: `${text.slice(0, end)}\n${note}`, cutFrom: text.length };
}

/** The names and the beginnings of the descriptions, as long as they are not too many. What is left out shows in the report. */
function skillsPart(skills: readonly PromptSkill[]): Part {
  if (skills.length === 0) return part("skills", "skills", "");
  const lines = skills.map(({ name, description, more = 0 }) => {
    const short = shortDescription(description);
    return { text: `- ${safe(name)}: ${short.text}`, missing: more + (short.more ?? 0) };
  });
  const [shown, hidden] = [lines.slice(0, MAX_SKILLS), lines.slice(MAX_SKILLS)];
  const text = [
    "<skills>",
    "Read a skill with the tool `skill` before you do what it is for.",
    ...shown.map((line) => line.text),
    ...(hidden.length > 0 ? [`(${hidden.length} more)`] : []),
    "</skills>",
  ].join("\n");
  const missing =
    shown.reduce((sum, line) => sum + line.missing, 0) +
    hidden.reduce((sum, line) => sum + line.text.length + line.missing, 0);
  return { ...part("skills", "skills", text), cutFrom: missing > 0 ? text.length + missing : undefined };
}
const MAX_SKILLS = 40;
const MAX_SKILL_TEXT = 250;

/** What a prompt shows of a description, and how many characters it leaves out. */
export function shortDescription(description: string): { readonly text: string; readonly more?: number } {
  const text = safe(description);
  if (text.length <= MAX_SKILL_TEXT) return { text };
  const start = text.slice(0, MAX_SKILL_TEXT - 1).toWellFormed();
  return { text: `${start}…`, more: text.length - start.length };
}

function permanentAgentsText(agents: readonly PermanentAgent[]): string {
  if (agents.length === 0) return "";
  const lines = [...agents]
    .sort((a, b) => byName(a, b) || (a.id < b.id ? -1 : 1))
    .map(({ id, name, username, description }) => {
      const also = username === undefined ? "" : `, @${safe(username)}`;
      return `- ${safe(name)} (${id}${also}): ${safe(description)}`;
    });
  return ["<permanent_agents>", ...lines, "</permanent_agents>"].join("\n");
}

/** By code units: independent of any language, the same everywhere. */
const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : Number(a.name > b.name);

const line = (text: string): string => text.replace(/\s+/gu, " ").trim();
/** Names and descriptions are written by agents: they must not close the list that contains them. */
const safe = (text: string): string => line(text).replaceAll("<", "&lt;");
