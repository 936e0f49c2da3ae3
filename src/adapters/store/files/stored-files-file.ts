/**
 * `files.json`: the rows of files and who refers to them. Their bytes are in the directory `files`, or where the shared store has
 * them. After a rebuild a file is found again by its id, and nothing that is referred to is swept (M6).
 */
import { z } from "zod";
import { type StoredFile, storedFileSchema } from "../../../core/message/stored-file.ts";
import type { Database } from "../sqlite/database.ts";
import { allFiles, writeFile, writeHold } from "../sqlite/stored-files.ts";
import { STORED_FILES_FILE } from "./file-format.ts";
import type { RestoreContext } from "./restore-context.ts";
import { itemsOf } from "./restore-registries.ts";

const SELECT_MENTIONS = `SELECT agents.id AS agent, entries.line AS text FROM entries JOIN agents ON agents.no = entries.agent
WHERE entries.line LIKE '%"id":"file\\_%' ESCAPE '\\'
UNION ALL SELECT agents.id, messages.message FROM messages JOIN agents ON agents.no = messages.agent
WHERE messages.message LIKE '%"id":"file\\_%' ESCAPE '\\'`;

const itemSchema = z.object({ file: storedFileSchema, holders: z.array(z.string()) });

interface HeldFile {
  readonly file: StoredFile;
  readonly holders: readonly string[];
}

export const storedFilesFile = (files: readonly HeldFile[]): object => ({ version: 1, files });

/** The content of the file; undefined if there is no file. */
export function storedFilesIn(db: Database): object | undefined {
  const files = allFiles(db);
  return files.length === 0 ? undefined : storedFilesFile(files);
}

/** How many files were restored. */
export function restoreStoredFiles(context: RestoreContext): number {
  const pick = (file: object) => (file as { files?: unknown }).files;
  const items = itemsOf(context, STORED_FILES_FILE, itemSchema, pick);
  for (const { file, holders } of items) {
    writeFile(context.db, file);
    for (const holder of holders) writeHold(context.db, file.id, holder);
  }
  holdMentioned(context.db);
  return items.length;
}

/** The file of rows may be older than the history: what an entry or a waiting message names is held in any case. */
function holdMentioned(db: Database): void {
  const known = new Set(allFiles(db).map(({ file }) => file.id));
  const rows = db.all<{ agent: string; text: string }>(SELECT_MENTIONS);
  for (const { agent, text } of rows)
    for (const [, id = ""] of text.matchAll(/"id":"(file_[0-9a-f]+)"/g))
      if (known.has(id)) writeHold(db, id, `agent:${agent}`);
}
