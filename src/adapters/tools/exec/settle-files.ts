/**
 * Looks at what a command has written when it has ended. Files that decide what agents do change only through a reviewed change: those
 * that exist are read-only in the sandbox, and those that a command has made are set aside. What it has written while untrusted text was in
 * context gets the mark (M32). After a crash this happens with the next start.
 */
import type { FileMarks } from "../files/file-marks.ts";
import { setAside } from "../files/set-aside.ts";
import { type ProcessInfo, writeInfo } from "./process-files.ts";
import type { KnownProcess } from "./processes.ts";

/** The files that were set aside, under their first names. Never repeated for a command. */
export async function settleFiles(
  marks: Pick<FileMarks, "settle">,
  { info, files }: Pick<KnownProcess, "info" | "files">,
): Promise<readonly string[]> {
  if (info.settled) return [];
  const aside = await setAside(info);
  await marks.settle(info.id);
  // A call that has its output already removes the files of its command.
  await writeInfo(files, { ...info, settled: true } satisfies ProcessInfo).catch(() => {});
  return aside;
}
