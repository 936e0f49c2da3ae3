/** Keeps the changes that tools make to prompt files, notes and skills, with both versions, so that a person can undo them. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { ChangeAuthor, FileChange } from "../../../core/file-change.ts";
import { unifiedDiff } from "../../../core/line-diff.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { allowedPath, pathText } from "./allowed-path.ts";
import type { FileMarks } from "./file-marks.ts";
import type { FileToolDeps } from "./file-tool-deps.ts";
import { ON_DISK, type Trusted } from "./prompt-guard.ts";
import { readTrusted } from "./read-trusted.ts";
import type { Around } from "./write-inside.ts";

export interface NewChange {
  /** The real path. */
  readonly path: string;
  /** The new content; null: the file is removed. */
  readonly after: string | null;
  readonly by: ChangeAuthor;
  readonly why?: string;
  /** The version that the author has seen; null: no file. Another one is a conflict. */
  readonly expect?: string | null;
}

/** A call of a tool, the same after a crash. */
export type CallOfRun = Pick<ToolContext, "runId" | "callId">;

export interface KeepsChanges {
  /** Whether changes of the file at this real path are kept. */
  keeps(path: string): boolean;
  /** What the file at this path counts as. */
  trusted(path: string): Trusted;
  /**
   * Runs `write`, which replaces or removes the file. If changes of this file are kept, the change is durable before that, and a
   * crash in between leaves one that says whether it was made. Returns its number, if one was kept.
   */
  around(change: NewChange, write: () => Promise<void>): Promise<number | undefined>;
  /** The last change that a call began; undefined if none. */
  ofCall(call: CallOfRun): Promise<FileChange | undefined>;
}

/** For tools that no home belongs to. */
export const keepsNothing: KeepsChanges = {
  keeps: () => false,
  trusted: () => ON_DISK,
  async around(_, write) {
    await write();
    return undefined;
  },
  ofCall: async () => undefined,
};

/** Whether a call has made its change already: a crash came before its result was recorded. */
export const madeBy =
  ({ changes }: { readonly changes: KeepsChanges }) =>
  async (call: CallOfRun): Promise<boolean> =>
    (await changes.ofCall(call))?.state === "done";

/** The author of what a call changes. */
export const authorOf = (
  { behalf, agentId, runId, callId }: Pick<ToolContext, "behalf" | "agentId" | "runId" | "callId">,
  tool: string,
): ChangeAuthor => ({ person: behalf?.person ?? OWNER, surface: "run", agentId, runId, callId, tool });

/** What happens around the write of a tool: the mark of untrusted text is durable before the file changes, and so is the change. */
export const keptAround =
  (
    { changes, marks }: { readonly changes: KeepsChanges; readonly marks: Pick<FileMarks, "add"> },
    context: ToolContext,
    tool: string,
    { after, isMarked }: { readonly after: string | null; readonly isMarked: boolean },
  ): Around =>
  async (path, write) => {
    if (isMarked && after !== null) await marks.add(path, after);
    await changes.around({ path, after, by: authorOf(context, tool) }, write);
  };

/** Longer texts are not compared. */
const MAX_COMPARED = 1_000_000;

/** What people are asked about: the difference that a call would make to a file whose changes are kept. */
export async function previewOf(
  { disk, changes, placesOf }: Pick<FileToolDeps, "disk" | "changes" | "placesOf">,
  agent: AgentRecord,
  path: string,
  change: (before: string | null) => string | null,
): Promise<string | undefined> {
  const places = await placesOf(agent);
  const real = pathText(await allowedPath(disk, places, path, "write"));
  if (!changes.keeps(real)) return undefined;
  const before = await readTrusted({ disk, changes }, places, path).then(
    ({ text }) => text,
    (error) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    },
  );
  const after = change(before);
  if ((before?.length ?? 0) > MAX_COMPARED || (after?.length ?? 0) > MAX_COMPARED) return undefined;
  // People see which file it is, not how the model calls it.
  return unifiedDiff(before, after, real);
}
