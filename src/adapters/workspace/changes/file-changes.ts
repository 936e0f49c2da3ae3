/** The contract of kept changes: what can be asked of them, and what they need. */
import type { HomePaths } from "../../../config/paths.ts";
import type { ChangeAuthor, ChangeFilter, FileChange, FileVersion, KeptFile } from "../../../core/file-change.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { KeepsChanges, NewChange } from "../../tools/files/file-changes.ts";
import type { PromptGuard } from "../../tools/files/prompt-guard.ts";
import type { SkillDisk } from "../skills/skill-disk.ts";
import type { ChangeLimits } from "./change-journal.ts";
import type { KeptPlace } from "./kept-kinds.ts";

export interface FileChangesParts {
  readonly paths: HomePaths;
  /** The owner's workspaces. */
  roots(): readonly string[];
  now(): number;
  /** Throws if a text cannot be the configuration. */
  checkConfig?(text: string): void;
  readonly limits?: ChangeLimits;
  readonly log?: Pick<Log, "warn">;
  /** Default: the real one. */
  readonly skillDisk?: SkillDisk;
}

export type Written = Pick<NewChange, "by" | "why" | "expect">;

export interface CurrentFile extends KeptPlace {
  readonly file: string;
  /** Null if there is no such file. */
  readonly text: string | null;
  readonly version: FileVersion | null;
}

export interface FileChanges extends KeepsChanges {
  /** What such files count as while commands and servers live that could write them. */
  readonly guard: PromptGuard;
  /** The newest first. */
  list(filter: ChangeFilter): Promise<readonly FileChange[]>;
  /** Throws `NotFoundError`. */
  get(id: number): Promise<FileChange>;
  /** Both versions; undefined: not kept any more, or not text. */
  textsOf(change: FileChange): Promise<{ readonly before?: string | null; readonly after?: string | null }>;
  /** Every such file there is now, without the configuration, in the order of their names. */
  files(): Promise<readonly KeptFile[]>;
  /** A file whose changes are kept, relative to the home or absolute. Throws `InvalidInputError` for any other file. */
  current(file: string): Promise<CurrentFile>;
  /** Replaces or removes a file for a person. Undefined if that changes nothing. Durable when it resolves. */
  write(file: string, text: string | null, written: Written): Promise<FileChange | undefined>;
  /** Takes a change back, which is a change too. Throws `ConflictError` if the file was changed since. */
  undo(id: number, by: ChangeAuthor): Promise<FileChange>;
  /** Removes all changes of a person's files with their contents. */
  forget(person: string): Promise<void>;
}
