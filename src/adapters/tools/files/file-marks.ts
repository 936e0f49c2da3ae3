/**
 * Which files carry the mark of untrusted text: they were written while text that the run's person did not write was in context
 * (M32). A mark names a path and the content, so a file that someone else changed later carries none.
 */

import { isUntrusted } from "../../../core/people/behalf.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";

export interface FileMarks {
  /** Durable when it resolves. Called before the file is written, so that no crash leaves a file without its mark. */
  add(realPath: string, content: string): Promise<void>;
  /** `content`: the text of the file, or its bytes as they are. */
  has(realPath: string, content: string | Uint8Array): boolean;
  /** Whether a file at this path, or below it, ever had the mark. */
  knows(realPath: string): boolean;
  /**
   * A command is about to write below these directories while such text is in context. Until it is settled, every file below them that
   * was changed since has the mark. Durable when it resolves. `id`: that of the command. `except`: files and directories that it cannot
   * write; a person may have changed them a moment before.
   */
  suspect(id: string, roots: readonly string[], since: number, except?: readonly string[]): Promise<void>;
  /** The command has ended: what it has written has the mark, by path and content. No effect for an unknown id. */
  settle(id: string): Promise<void>;
  /** Removes all marks of files below this directory. */
  forget(root: string): Promise<void>;
  /** No file has the mark. */
  readonly isEmpty: boolean;
}

/** For tools that no home belongs to. */
export const noMarks: FileMarks = {
  add: async () => {},
  has: () => false,
  knows: () => false,
  suspect: async () => {},
  settle: async () => {},
  forget: async () => {},
  isEmpty: true,
};

/** Whether what this call writes carries the mark. */
export const writesMarked = ({ behalf, agent }: Pick<ToolContext, "behalf" | "agent">): boolean =>
  (behalf !== undefined && isUntrusted(behalf)) ||
  agent.state?.untrusted === true ||
  agent.state?.madeUntrusted === true;

/** The mark of a result that shows this file. */
export const fromFile = (path: string): { readonly from: string } => ({ from: `file:${path}` });
