/**
 * `memory_write`: proposes a change of a note. A person sees the difference and says yes or no; a yes covers exactly that difference, and
 * the change is kept, so that it can be undone. Only an addition to the note of a day, which enters no prompt, needs no yes, unless
 * untrusted text is in context (M32). A call that a crash interrupts is made once: the journal of changes knows whether it was.
 */
import { z } from "zod";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import type { FileChange } from "../../../core/file-change.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { MAX_FILE_CHARACTERS } from "../../../engine/context/prompt/system-prompt.ts";
import { authorOf, previewOf } from "../files/file-changes.ts";
import { writesMarked } from "../files/file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "../files/file-tool-deps.ts";
import type { TextFile } from "../files/read-text.ts";
import { readTrusted } from "../files/read-trusted.ts";
import { versionOf } from "../files/text-version.ts";
import { writeInside } from "../files/write-inside.ts";
import { changedNote, isNote, MAIN_NOTE, notePathOf } from "./note-change.ts";

const NAME = "memory_write";
/** Stands for the version of a note that could not be read: no note has it. */
const UNREADABLE = "unreadable";

const input = z.strictObject({
  note: z
    .string()
    .max(100)
    .refine(isNote, "It is not a note. Name MEMORY.md, today, or a day such as 2026-11-03.")
    .describe("MEMORY.md: in every prompt; today, or a day: 2026-11-03"),
  text: z.string().max(20_000).describe("What to add at its end"),
  replaces: z.string().min(1).max(20_000).optional().describe("Text of the note that it replaces"),
});
type Input = z.infer<typeof input>;

export interface MemoryWriteDeps extends FileToolDeps {
  /** The present time, and the time zone that days are counted in. */
  readonly now: () => number;
  readonly zone: () => string;
}

export function memoryWriteTool(deps: MemoryWriteDeps): Tool<Input> {
  const pathOf = ({ note }: Input): string => notePathOf(note, deps.now(), deps.zone());
  const onFile = effectsOnFiles<Input>(deps, NAME, ["write"], (given) => [{ access: "write", path: pathOf(given) }]);
  return {
    name: NAME,
    description: "Proposes a change of your notes about the person, who sees the difference and can undo it.",
    input,
    rights: ["write"],
    replay: "safe",
    parallel: false,
    maxOutput: 1_000,
    async effects(given, context) {
      // What cannot be read is refused by the call itself.
      const version = await versionNow(deps, context.agent, pathOf(given)).catch(() => UNREADABLE);
      return (await onFile(given, context)).map((effect) => ({ ...effect, version }));
    },
    async needsYes(given, context) {
      if (given.replaces === undefined && pathOf(given) !== MAIN_NOTE && !writesMarked(context)) return false;
      return isPossible(deps, context.agent, given, pathOf(given));
    },
    preview: (given, agent) =>
      previewOf(deps, agent, pathOf(given), (before) => changedNote(before, given, pathOf(given))),
    // Begun is enough: `execute` finds out whether it was made.
    made: async (call) => (await deps.changes.ofCall(call)) !== undefined,
    async execute(given, context) {
      const made = await deps.changes.ofCall(context);
      if (made?.state === "done") return told(made.id, given, made.file);
      return write(deps, context, given, pathOf(given), made);
    },
  };
}

/** No person is asked about a change that cannot be made. The version in its effect keeps it from being made later. */
async function isPossible(deps: MemoryWriteDeps, agent: ToolContext["agent"], given: Input, path: string) {
  try {
    const file = await noteNow(deps, agent, path);
    changedNote(file?.text ?? null, given, path);
    return true;
  } catch {
    return false;
  }
}

async function versionNow(deps: MemoryWriteDeps, agent: ToolContext["agent"], path: string): Promise<string | null> {
  const file = await noteNow(deps, agent, path);
  return file ? versionOf(file.text).sha256 : null;
}

async function noteNow(
  deps: MemoryWriteDeps,
  agent: ToolContext["agent"],
  path: string,
): Promise<TextFile | undefined> {
  const places = await deps.placesOf(agent);
  return readTrusted(deps, places, path).catch((error) => {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  });
}

async function write(
  deps: MemoryWriteDeps,
  context: ToolContext,
  given: Input,
  path: string,
  interrupted: FileChange | undefined,
): Promise<ToolOutput> {
  const file = await noteNow(deps, context.agent, path);
  const version = file ? versionOf(file.text).sha256 : null;
  if (interrupted && version !== (interrupted.before?.sha256 ?? null)) {
    throw new ConflictError(`The program stopped during this change, and ${path} was changed since.`, {
      hint: "Read it before you propose the change again.",
    });
  }
  const judged = context.allowed?.find((effect) => effect.version !== undefined);
  if (judged && judged.version !== version) {
    throw new ConflictError(`${path} has changed since this was proposed.`, { hint: "Propose it again." });
  }
  const after = changedNote(file?.text ?? null, given, path);
  // What is left of a marked text keeps the mark.
  const isMarked = writesMarked(context) || (file !== undefined && deps.marks.has(file.real, file.text));
  let change: number | undefined;
  await writeInside(deps.disk, await deps.placesOf(context.agent), path, after, {
    replaces: file?.stats,
    async around(real, replace) {
      if (isMarked) await deps.marks.add(real, after);
      change = await deps.changes.around({ path: real, after, by: authorOf(context, NAME), expect: version }, replace);
    },
  });
  return told(change, given, path, after);
}

/** With the size, so that an agent knows what still fits. */
function told(change: number | undefined, { replaces }: Input, path: string, after?: string): ToolOutput {
  const what = replaces === undefined ? `Added to ${path}` : `Changed ${path}`;
  const which = change === undefined ? "" : ` (change ${change})`;
  const size =
    after === undefined || path !== MAIN_NOTE
      ? ""
      : ` It has ${after.trim().length} of ${MAX_FILE_CHARACTERS} characters.`;
  return { content: [{ type: "text", text: `${what}${which}.${size}` }] };
}
