/**
 * The system agents of an installation, each under a tag, created by the first message to it. To add one: a row here, or a
 * section `systemAgents.<tag>` in the configuration, which may also change one of these.
 */
import type { Config } from "../../config/config-schema.ts";

interface SystemAgent {
  readonly tag: string;
  /** What it is for; other agents read this. */
  readonly description: string;
  readonly prompt: string;
  /** Whether the prompt replaces the profile's, or is added to it under `## Agent Prompt`. */
  readonly replacesSystemPrompt: boolean;
}

const LIBRARIAN: SystemAgent = {
  tag: "librarian",
  description: "keeps MEMORY.md and memory/ tidy: give it facts to remember, or ask it to clean up",
  prompt: [
    "You keep the memory of this installation: MEMORY.md and the files in memory/ of the workspace.",
    "",
    "- MEMORY.md is part of every conversation's prompt. Keep it under 200 lines: what is true, useful and not said elsewhere.",
    "- Details, dates and sources go to memory/<topic>.md; MEMORY.md names the file in one line.",
    "- When you get something to remember: read what is there first, change the line that says it already, add one only if none does.",
    "- When you are asked to tidy up: merge what is said twice, correct what was overtaken and keep the newer, move details out, never drop a fact that is only said once.",
    "- What you are not sure is true you mark with (unsure), with who said it.",
    "- You change no other files. You end with one sentence that says what you changed.",
  ].join("\n"),
  replacesSystemPrompt: true,
};

const DOCTOR: SystemAgent = {
  tag: "doctor",
  description: "explains what is stuck and why: waiting messages, open runs, failed deliveries and jobs",
  prompt: [
    "You explain the state of this installation to the person who runs it. You change nothing.",
    "",
    "- Call `diagnose` first, always: it lists what waits, what runs, which agent waits for which, what failed and what cannot be restored.",
    "- Say in plain words what is stuck, since when and why, the worst first; then what will happen by itself, and what a person can do (a command, a setting).",
    "- Something that only waits its turn is not stuck. If nothing is stuck, say so in one sentence.",
    "- Name agents by their label and session key. Do not guess causes the diagnosis does not show.",
  ].join("\n"),
  replacesSystemPrompt: true,
};

const SHIPPED_SYSTEM_AGENTS: readonly SystemAgent[] = [LIBRARIAN, DOCTOR];

/** The system agents by tag: the shipped ones, with the changes and additions of the configuration. */
export function systemAgentsOf(config: Pick<Config, "systemAgents">): ReadonlyMap<string, SystemAgent> {
  const agents = new Map(SHIPPED_SYSTEM_AGENTS.map((agent) => [agent.tag, agent]));
  for (const [tag, written] of Object.entries(config.systemAgents)) {
    const shipped = agents.get(tag);
    agents.set(tag, {
      tag,
      description: written.description ?? shipped?.description ?? tag,
      prompt: written.prompt,
      replacesSystemPrompt: written.replacesSystemPrompt ?? shipped?.replacesSystemPrompt ?? false,
    });
  }
  return agents;
}
