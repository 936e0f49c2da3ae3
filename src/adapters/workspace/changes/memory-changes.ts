/** Changes of the notes in one person's directory: the person sees them, and undoes them, without those of anyone else (L13). */
import { realpathSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import type { HomePaths } from "../../../config/paths.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { FileChange } from "../../../core/file-change.ts";
import type { CommandParts, MemoryChange } from "../../../engine/commands/chat-command.ts";
import type { FileChanges } from "./file-changes.ts";

const MOST = 500;

/** `directoryOf`: of the agent's person; undefined if that person is not known. */
export function memoryChanges(
  changes: FileChanges,
  { home }: Pick<HomePaths, "home">,
  directoryOf: (agent: AgentRecord) => Promise<string | undefined>,
): NonNullable<CommandParts["memoryChanges"]> {
  /** Undefined for the notes of anyone else. */
  const ownName = async (agent: AgentRecord, { file, kind }: FileChange): Promise<string | undefined> => {
    const own = await directoryOf(agent);
    if (own === undefined || kind !== "memory") return undefined;
    const root = realOf(own);
    const name = relative(root, isAbsolute(file) ? file : join(realOf(home), file));
    return name === ".." || name.startsWith(`..${sep}`) || isAbsolute(name) ? undefined : name;
  };
  const shown = (change: FileChange, file: string): MemoryChange => ({
    id: change.id,
    file,
    is: change.before === null ? "added" : change.after === null ? "removed" : "changed",
    undone: change.undoneBy !== undefined,
  });
  return {
    async list(agent) {
      const found: MemoryChange[] = [];
      for (const change of await changes.list({ limit: MOST, kind: "memory" })) {
        const name = change.state === "done" ? await ownName(agent, change) : undefined;
        if (name !== undefined) found.push(shown(change, name));
      }
      return found;
    },
    async undo(agent, person, id) {
      const change = await changes.get(id).catch(() => undefined);
      const name = change && (await ownName(agent, change));
      if (name === undefined) throw new NotFoundError(`There is no change ${id} of your notes.`);
      return shown(await changes.undo(id, { person, surface: "chat", agentId: agent.id }), name);
    },
  };
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
