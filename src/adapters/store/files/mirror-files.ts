/**
 * The disk as the plain files need it: few calls, all synchronous (they run in a thread of their own), each of which the
 * tests can make fail. Paths are relative to the home. Directories are 0700, files 0600.
 */
export interface MirrorFiles {
  /** The whole file, or undefined where there is none. */
  read(path: string): Buffer | undefined;
  /** Up to `length` bytes from `offset`; fewer at the end. */
  readAt(path: string, offset: number, length: number): Buffer;
  /** In bytes, or undefined where there is no such file. */
  size(path: string): number | undefined;
  /** The names in a directory, sorted; none where there is no such directory. */
  list(path: string): readonly string[];
  /** May be torn by a crash: a part of the data may be there. */
  append(path: string, data: string | Buffer): void;
  /** Whole or not at all: a temporary file with a name nobody else takes, renamed over the old one. */
  replace(path: string, data: string | Buffer): void;
  truncate(path: string, size: number): void;
  move(from: string, to: string): void;
  /** With everything in it; no error where it is gone. */
  remove(path: string): void;
  /** With its parents; no error where it is there. */
  makeDir(path: string): void;
  /** Brings a file's bytes, or a directory's names, to the disk. No error where it is gone. */
  sync(path: string): void;
}
