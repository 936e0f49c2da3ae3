/**
 * The disk as the plain files need it: few calls, all synchronous (they run in a thread of their own). Tests make each of
 * them fail. Paths are relative to the home. Directories are 0700, files 0600.
 */
export interface MirrorFiles {
  /** The whole file, or undefined if it does not exist. */
  read(path: string): Buffer | undefined;
  /** Up to `length` bytes from `offset`; fewer at the end. */
  readAt(path: string, offset: number, length: number): Buffer;
  /** In bytes, or undefined if the file does not exist. */
  size(path: string): number | undefined;
  /** The names in a directory, sorted; none if it does not exist. */
  list(path: string): readonly string[];
  /** May be torn by a crash: a part of the data may be there. */
  append(path: string, data: string | Buffer): void;
  /** Whole or not at all: writes a temporary file with a unique name and renames it over the old one. */
  replace(path: string, data: string | Buffer): void;
  truncate(path: string, size: number): void;
  move(from: string, to: string): void;
  /** With everything in it; no error if it does not exist. */
  remove(path: string): void;
  /** With its parents; no error if it exists. */
  makeDir(path: string): void;
  /** Flushes a file's bytes, or a directory's names, to the disk. No error if it does not exist. */
  sync(path: string): void;
}
