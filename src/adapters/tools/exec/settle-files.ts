/**
 * Looks at what a command has written when it has ended. Files that decide what agents do change only through a reviewed change: those
 * that exist are read-only in the sandbox, and those that a command has made are set aside. What it has written while untrusted text was in
 * context gets the mark (M32). After a crash this happens with the next start.
 */
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import type { FileMarks } from "../files/file-marks.ts";
import { type ProcessInfo, writeInfo } from "./process-files.ts";
import type { KnownProcess } from "./processes.ts";

export const ASIDE = ".proposed";

/** The files that were set aside, under their first names. Never repeated for a command. */
export async function settleFiles(
  marks: Pick<FileMarks, "settle">,
  { info, files }: Pick<KnownProcess, "info" | "files">,
): Promise<readonly string[]> {
  if (info.settled) return [];
  const aside: string[] = [];
  for (const path of info.absent ?? []) {
    const isMoved = existsSync(path) && (await moved(path));
    if (isMoved) aside.push(path);
  }
  await marks.settle(info.id);
  // A call that has its output already removes the files of its command.
  await writeInfo(files, { ...info, settled: true } satisfies ProcessInfo).catch(() => {});
  return aside;
}

const moved = (path: string): Promise<boolean> =>
  rename(path, freeName(path)).then(
    () => true,
    () => false,
  );

function freeName(path: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? `${path}${ASIDE}` : `${path}${ASIDE}-${n}`;
    if (!existsSync(name)) return name;
  }
}

/** What the model reads about them. */
export const asideNote = (paths: readonly string[]): string =>
  `${paths.map((path) => path.slice(path.lastIndexOf("/") + 1)).join(", ")}: only a reviewed change makes such a file, so it was set aside with the ending ${ASIDE}; use write to propose it`;
