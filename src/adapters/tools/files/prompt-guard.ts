/**
 * Finds the version of a prompt file that counts. While a command or a server lives that could write such files, the disk is not
 * asked: a file counts as it was when that writer started, or as the latest reviewed change since has made it.
 */
import type { ChangeAuthor } from "../../../core/file-change.ts";

export type Trusted =
  /** No such writer lives, or the writer cannot have written it: it is what the disk has. */
  { readonly is: "disk" } | { readonly is: "text"; readonly bytes: Buffer } | { readonly is: "absent" };

export const ON_DISK: Trusted = { is: "disk" };

/** Every reader of such files asks this first. */
export interface TrustedFiles {
  /** `path`: absolute. */
  of(path: string): Trusted;
  /** The names in a directory; undefined: those that the disk has. */
  names(directory: string): readonly string[] | undefined;
}

/** The author of a change, and the reason for it. */
export interface KeptFor {
  readonly by: ChangeAuthor;
  readonly why: string;
}

/** The files that a writer has changed, by their fate. */
export interface Settled {
  /** Set aside, under their first names. */
  readonly aside: readonly string[];
  /** Files of repositories that are kept as changes. */
  readonly changed: readonly string[];
  /** Directories in which nobody looked for repositories: there were too many. */
  readonly unsearched: readonly string[];
}

export const NOTHING_SETTLED: Settled = { aside: [], changed: [], unsearched: [] };

export interface PromptGuard extends TrustedFiles {
  /**
   * Before the writer starts. `paths`: what it must not change or make; `writable`: the directories it may write in. Durable when it
   * resolves. `repositories`: it must make no repository either, or what it changes in repositories is kept as a change.
   */
  begin(
    writer: string,
    paths: readonly string[],
    writable?: readonly string[],
    repositories?: "guarded" | KeptFor,
  ): Promise<void>;
  /**
   * Before an agent has prompt files in this directory. For writers that live already and can write there, those files count as they
   * are now. That is true at once, and durable when it resolves.
   */
  adopt(directory: string): Promise<void>;
  /** Sets aside what the writer has put in their place, and puts them back. Returns the paths of what it set aside. */
  check(writer: string): Promise<readonly string[]>;
  /** The same after the writer has ended, and forgets it. A file that cannot be put right stays guarded. */
  end(writer: string): Promise<Settled>;
  /** Writers of an earlier process, and those whose files could not be put right. */
  left(): readonly string[];
}

/** For programs without a home: nothing is guarded. */
export const noGuard: PromptGuard = {
  of: () => ON_DISK,
  names: () => undefined,
  begin: async () => {},
  adopt: async () => {},
  check: async () => [],
  end: async () => NOTHING_SETTLED,
  left: () => [],
};
