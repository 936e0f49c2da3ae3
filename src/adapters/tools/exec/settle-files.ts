/**
 * Looks at what a command has written when it has ended. Files that decide what agents do change only through a reviewed change: what it
 * has put in their place is set aside. What it has written while untrusted text was in context gets the mark (M32). After a crash this
 * happens with the next start.
 */
import type { FileMarks } from "../files/file-marks.ts";
import { NOTHING_SETTLED, type PromptGuard, type Settled } from "../files/prompt-guard.ts";
import { type ProcessInfo, writeInfo } from "./process-files.ts";
import type { KnownProcess, Processes } from "./processes.ts";

interface SettleDeps {
  readonly marks: Pick<FileMarks, "settle">;
  readonly guard: Pick<PromptGuard, "end">;
  readonly processes: Pick<Processes, "endRest">;
}

/** Never repeated for a command, and not done while a part of it writes. */
export async function settleFiles(
  { marks, guard, processes }: SettleDeps,
  { info, files }: Pick<KnownProcess, "info" | "files">,
): Promise<Settled> {
  if (info.settled || !(await processes.endRest({ info, files }))) return NOTHING_SETTLED;
  const settled = await guard.end(info.id);
  await marks.settle(info.id);
  // A call that has its output already removes the files of its command.
  await writeInfo(files, { ...info, settled: true } satisfies ProcessInfo).catch(() => {});
  return settled;
}
