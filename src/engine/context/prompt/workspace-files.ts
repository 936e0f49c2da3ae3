/** The files of a workspace that are part of the system prompt, each up to a limit that is visible where it cuts. */
import type { AgentKind } from "../../../core/agent/descriptor.ts";

/** In the order they stand in the prompt: what seldom changes first, so that a provider's cache reaches far. */
export const WORKSPACE_FILES = ["AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md"] as const;
/** Children get what it takes to work, not who the person is nor what was remembered of them. */
const MINIMAL_FILES: readonly string[] = ["AGENTS.md", "TOOLS.md"];

export const MAX_FILE_CHARACTERS = 20_000;

/** Gives the text of a workspace file by name; undefined where there is none. It may be cut beyond the limit already. */
export type ReadWorkspaceFile = (name: string) => string | undefined;

/** A swarm's agents speak with strangers: they are shown what is remembered only where the swarm says so. */
const SHARED_MEMORY: readonly string[] = ["MEMORY.md"];

export function filesFor(kind: AgentKind, sharesMemory = false): readonly string[] {
  if (kind === "swarm") return sharesMemory ? SHARED_MEMORY : [];
  return WORKSPACE_FILES.filter((name) => kind !== "subagent" || MINIMAL_FILES.includes(name));
}

/** The beginning of a text, whole characters only, and a note that says what is missing. */
export function cutText(
  text: string,
  limit: number,
  name: string,
): { readonly text: string; readonly cutFrom?: number } {
  if (text.length <= limit) return { text };
  const end = text.slice(0, limit).isWellFormed() ? limit : limit - 1;
  const note = `[${name} is cut here: ${end} of ${text.length} characters are shown; read the file for the rest]`;
  return { text: `${text.slice(0, end)}\n${note}`, cutFrom: text.length };
}
