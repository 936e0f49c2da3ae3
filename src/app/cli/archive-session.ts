/**
 * Writes a session into a file that starts at its last compaction, and the whole session into a `.bak` file beside it. It
 * never overwrites a file: a different file with that name becomes another `.bak`.
 */
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { archiveTranscript, backupName } from "../../engine/context/transcript/archive-transcript.ts";

type ArchivedSession =
  | { readonly file: string; readonly backup: string; readonly left: number }
  | { readonly refused: string };

export async function archiveSession(directory: string, name: string, whole: string): Promise<ArchivedSession> {
  const archived = archiveTranscript(whole);
  if ("refused" in archived) return archived;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, name);
  if (existsSync(file) && (await readFile(file, "utf8")) !== archived.text) await rename(file, await freeBackup(file));
  const backup = await writeBackup(file, whole);
  await writeDurably(`${file}.tmp`, archived.text);
  await rename(`${file}.tmp`, file);
  return { file, backup, left: archived.left };
}

/** Reuses a backup with the same content. */
async function writeBackup(file: string, whole: string): Promise<string> {
  for (let n = 1; ; n++) {
    const name = backupName(file, n);
    if (!existsSync(name)) {
      await writeDurably(name, whole);
      return name;
    }
    if ((await readFile(name, "utf8")) === whole) return name;
  }
}

async function freeBackup(file: string): Promise<string> {
  let n = 1;
  while (existsSync(backupName(file, n))) n += 1;
  return backupName(file, n);
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
