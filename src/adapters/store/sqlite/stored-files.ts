/**
 * The tables `stored_files`, `file_holds` and `blob_trash`. A row names only blobs whose bytes are durable; a blob that is
 * doomed is never named by a row again, so that its bytes can be deleted at any time after the commit.
 */
import type { AgentId } from "../../../core/ids.ts";
import { blobsOf } from "../../../core/message/blobs-of.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { Op, OpResult, Recipient } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readablePage, storedJson } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT record FROM stored_files WHERE id = ?";
const SELECT_BY_SHA = "SELECT record FROM stored_files WHERE sha = ? LIMIT 1";
const SELECT_PAGE = "SELECT record FROM stored_files WHERE id > ? ORDER BY id LIMIT ?";
const SELECT_PAGE_OF = "SELECT record FROM stored_files WHERE person = ? AND id > ? ORDER BY id LIMIT ?";
const SELECT_USED = "SELECT coalesce(sum(size), 0) AS used FROM stored_files WHERE person = ?";
const SELECT_USER = `SELECT 1 AS found FROM stored_files WHERE blob = ?1
UNION ALL SELECT 1 FROM stored_files WHERE shown_blob = ?1 LIMIT 1`;
const SELECT_WALK = "SELECT id, created_at FROM stored_files WHERE id > ? ORDER BY id LIMIT ?";
const INSERT = `INSERT INTO stored_files (id, sha, blob, shown_blob, person, size, created_at, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const REMOVE = "DELETE FROM stored_files WHERE id = ?";
const HOLD = "INSERT INTO file_holds (file, holder) VALUES (?, ?) ON CONFLICT (file, holder) DO NOTHING";
const SELECT_HOLD = "SELECT 1 AS found FROM file_holds WHERE file = ? AND holder = ?";
const SELECT_HOLDERS = "SELECT holder FROM file_holds WHERE file = ?";
const SELECT_ALL_HOLDS = "SELECT file, holder FROM file_holds ORDER BY file, holder";
const REMOVE_HOLDS = "DELETE FROM file_holds WHERE file = ?";
const SELECT_DELIVERY = "SELECT 1 AS found FROM deliveries WHERE id = ?";
const STAGE = "INSERT INTO blob_trash (blob, due_at) VALUES (?, ?)";
const UNSTAGE = "DELETE FROM blob_trash WHERE blob = ? AND doomed = 0 RETURNING blob";
const DOOM = "INSERT INTO blob_trash (blob, due_at, doomed) VALUES (?, ?, 1)";
const DOOM_DUE = "UPDATE blob_trash SET doomed = 1 WHERE due_at <= ?";
const SELECT_DOOMED = "SELECT blob FROM blob_trash WHERE due_at <= ? AND doomed = 1 ORDER BY due_at LIMIT ?";
const GONE = "DELETE FROM blob_trash WHERE blob = ? AND doomed = 1";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): StoredFile => storedJson(record);

type FileReads = "file" | "fileBySha" | "files" | "holdsFile" | "fileBytes";

export const storedFileReads = (db: Database): Pick<StoreReader, FileReads> => ({
  file: async (id) => {
    const row = db.get<RecordRow>(SELECT, id);
    return row && recordOf(row);
  },
  fileBySha: async (sha) => {
    const row = db.get<RecordRow>(SELECT_BY_SHA, sha);
    return row && recordOf(row);
  },
  files: ({ person, after = "", limit }) =>
    readablePage(limit, recordOf, (asked) =>
      person === undefined
        ? db.all<RecordRow>(SELECT_PAGE, after, asked)
        : db.all<RecordRow>(SELECT_PAGE_OF, person, after, asked),
    ),
  holdsFile: async (agentId, id) => db.get(SELECT_HOLD, id, `agent:${agentId}`) !== undefined,
  fileBytes: async (person) => usedBy(db, person),
});

const usedBy = (db: Database, person: string): number => db.get<{ used: number }>(SELECT_USED, person)?.used ?? 0;

export function stageBlobs({ db }: Applying, { blobs, until }: OpOf<"file.stage">): undefined {
  for (const blob of blobs) db.run(STAGE, blob, until);
}

export function putFile(applying: Applying, { file, quota }: OpOf<"file.put">): OpResult {
  const { db } = applying;
  const used = usedBy(db, file.behalf.person);
  if (db.get(SELECT, file.id)) return { op: "file.put", status: "exists", used };
  if (used + file.size > quota) return { op: "file.put", status: "full", used };
  for (const blob of blobsOf(file)) {
    if (!db.get(UNSTAGE, blob) && !db.get(SELECT_USER, blob))
      throw new RefusedChange("missing", `The bytes ${blob} are not kept any more.`);
  }
  writeFile(db, file);
  applying.touched.add("files");
  return { op: "file.put", status: "stored", used: used + file.size };
}

export function writeFile(db: Database, file: StoredFile): void {
  const { id, sha, blob, behalf, size, createdAt } = file;
  const shown = blobsOf(file)[1] ?? null;
  db.run(INSERT, id, sha, blob, shown, behalf.person, size, createdAt, JSON.stringify(file));
}

export const writeHold = (db: Database, file: string, holder: string): void => {
  db.run(HOLD, file, holder);
};

/** Everything for the plain file: each file with its holders. Throws `CorruptDataError` if one cannot be parsed. */
export function allFiles(db: Database): { readonly file: StoredFile; readonly holders: readonly string[] }[] {
  const holders = new Map<string, string[]>();
  for (const { file, holder } of db.all<{ file: string; holder: string }>(SELECT_ALL_HOLDS))
    holders.set(file, [...(holders.get(file) ?? []), holder]);
  return db.all<RecordRow>(SELECT_PAGE, "", -1).map((row) => {
    const file = recordOf(row);
    return { file, holders: holders.get(file.id) ?? [] };
  });
}

export function holdFiles({ db, agents, touched }: Applying, op: OpOf<"file.hold">): undefined {
  const { files, by, person, ifKept } = op;
  const holder = "delivery" in by ? `delivery:${by.delivery}` : `agent:${agentOf(agents, by).id}`;
  for (const id of files) {
    const row = db.get<RecordRow>(SELECT, id);
    if (!row && ifKept) continue;
    if (!row || (person !== undefined && recordOf(row).behalf.person !== person))
      throw new RefusedChange("missing", `There is no file ${id}.`);
    db.run(HOLD, id, holder);
  }
  touched.add("files");
}

function agentOf(agents: Applying["agents"], by: Recipient) {
  const agent = "agentId" in by ? agents.find(by.agentId) : agents.byKey(by.sessionKey);
  if (!agent) throw new RefusedChange("missing", "There is no such agent.");
  return agent;
}

export function removeFile(applying: Applying, { id }: OpOf<"file.remove">): undefined {
  if (!dropFile(applying, id)) throw new RefusedChange("missing", `There is no file ${id}.`);
}

/** Removes a row and dooms the blobs that no other row uses. */
function dropFile({ db, change, touched }: Applying, id: string): boolean {
  const row = db.get<RecordRow>(SELECT, id);
  if (!row) return false;
  db.run(REMOVE, id);
  db.run(REMOVE_HOLDS, id);
  for (const blob of blobsOf(recordOf(row))) if (!db.get(SELECT_USER, blob)) db.run(DOOM, blob, change.at);
  touched.add("files");
  return true;
}

export function sweepFiles(applying: Applying, { before, limit, after }: OpOf<"file.sweep">): OpResult {
  const { db, change } = applying;
  const rows = db.all<{ id: string; created_at: number }>(SELECT_WALK, after ?? "", limit);
  let removed = 0;
  for (const { id, created_at } of rows) {
    if (created_at >= before || isHeld(applying, id)) continue;
    if (dropFile(applying, id)) removed += 1;
  }
  db.run(DOOM_DUE, change.at);
  const blobs = db.all<{ blob: string }>(SELECT_DOOMED, change.at, limit).map(({ blob }) => blob);
  return { op: "file.sweep", removed, blobs, next: rows.length === limit ? rows.at(-1)?.id : undefined };
}

/** A removed agent whose history was deleted holds nothing; a delivery holds its files until its row is pruned. */
function isHeld({ db, agents }: Applying, id: string): boolean {
  return db.all<{ holder: string }>(SELECT_HOLDERS, id).some(({ holder }) => {
    const [kind, of] = [holder.slice(0, holder.indexOf(":")), holder.slice(holder.indexOf(":") + 1)];
    if (kind === "delivery") return db.get(SELECT_DELIVERY, of) !== undefined;
    return (agents.find(of as AgentId)?.next_pos ?? 0) > 0;
  });
}

export function blobsGone({ db }: Applying, { blobs }: OpOf<"file.gone">): undefined {
  for (const blob of blobs) db.run(GONE, blob);
}
