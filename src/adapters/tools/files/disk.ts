/** The file system calls of the file tools. A test can change the disk between two calls. */
import type { Dirent, Stats } from "node:fs";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rename, rm } from "node:fs/promises";

export interface Disk {
  realpath(path: string): Promise<string>;
  readlink(path: string): Promise<string>;
  lstat(path: string): Promise<Stats>;
  open(path: string, flags: number, mode?: number): Promise<FileHandle>;
  mkdir(path: string, mode: number): Promise<unknown>;
  readdir(path: string): Promise<Dirent[]>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** The directory where the system shows open descriptors as paths, if it does. */
  readonly descriptors?: string;
}

export const realDisk: Disk = {
  realpath: (path) => realpath(path),
  readlink: (path) => readlink(path),
  lstat: (path) => lstat(path),
  open: (path, flags, mode) => open(path, flags, mode),
  mkdir: (path, mode) => mkdir(path, { mode }),
  readdir: (path) => readdir(path, { withFileTypes: true }),
  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { force: true }),
  descriptors: process.platform === "linux" ? "/proc/self/fd" : undefined,
};

/** Never follows a link at the end of the path, never waits for the other end of a pipe. */
export const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
export const DIRECTORY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;
export const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
