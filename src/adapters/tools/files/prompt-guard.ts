/**
 * What a file that decides what agents do counts as. While a command or a server lives that could write such files, the disk is not
 * asked: a file counts as it was when that writer started, or as the latest reviewed change since has made it.
 */

export type Trusted =
  /** No such writer lives, or the writer cannot have written it: it is what the disk has. */
  { readonly is: "disk" } | { readonly is: "text"; readonly bytes: Buffer } | { readonly is: "absent" };

export const ON_DISK: Trusted = { is: "disk" };

/** What everything that reads such files asks first. */
export interface TrustedFiles {
  /** `path`: absolute. */
  of(path: string): Trusted;
  /** The names in a directory; undefined: those that the disk has. */
  names(directory: string): readonly string[] | undefined;
}

export interface PromptGuard extends TrustedFiles {
  /**
   * Before the writer starts. `paths`: what it must not change or make; `writable`: the directories it may write in. Durable when it
   * resolves. `repositories`: it must make no repository either.
   */
  begin(writer: string, paths: readonly string[], writable?: readonly string[], repositories?: boolean): Promise<void>;
  /**
   * Before an agent has prompt files in this directory. For writers that live already and can write there, those files count as they
   * are now. That is true at once, and durable when it resolves.
   */
  adopt(directory: string): Promise<void>;
  /** Sets aside what the writer has put in their place, and puts them back. Returns the paths of what it set aside. */
  check(writer: string): Promise<readonly string[]>;
  /** The same after the writer has ended, and forgets it. A file that cannot be put right stays guarded. */
  end(writer: string): Promise<readonly string[]>;
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
  end: async () => [],
  left: () => [],
};
