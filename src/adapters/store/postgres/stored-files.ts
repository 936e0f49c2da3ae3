/** The tables `stored_files`, `file_holds` and `blob_trash`: reads, and how ops on them are sent. */

import { blobsOf } from "../../../core/message/blobs-of.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readablePage, storedJson } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type Lock, type OpForms, type OpOf, type Wire, whole } from "./op-form.ts";

const SELECT: Statement = { name: "select-stored-file", text: "SELECT record FROM stored_files WHERE id = $1" };
const SELECT_BY_SHA: Statement = {
  name: "select-stored-file-by-sha",
  text: "SELECT record FROM stored_files WHERE sha = $1 LIMIT 1",
};
const SELECT_PAGE: Statement = {
  name: "select-stored-files",
  text: "SELECT record FROM stored_files WHERE ($1::text IS NULL OR person = $1) AND id > $2 ORDER BY id LIMIT $3",
};
const SELECT_HOLD: Statement = {
  name: "select-file-hold",
  text: "SELECT file FROM file_holds WHERE file = $1 AND holder = $2",
};
const SELECT_HOLDS: Statement = {
  name: "select-file-holds",
  text: "SELECT file, holder FROM file_holds ORDER BY file, holder",
};
const SELECT_USED: Statement = {
  name: "select-file-bytes",
  text: "SELECT coalesce(sum(size), 0)::bigint AS used FROM stored_files WHERE person = $1",
};

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): StoredFile => storedJson(record);

type FileReads = "file" | "fileBySha" | "files" | "holdsFile" | "fileBytes";

export const storedFileReads = (connections: Connections): Pick<StoreReader, FileReads> => ({
  file: async (id) => {
    const row = await connections.one<RecordRow>(SELECT, clean(id));
    return row && recordOf(row);
  },
  fileBySha: async (sha) => {
    const row = await connections.one<RecordRow>(SELECT_BY_SHA, clean(sha));
    return row && recordOf(row);
  },
  files: ({ person, after = "", limit }) =>
    readablePage(limit, recordOf, (asked) =>
      connections.all<RecordRow>(SELECT_PAGE, cleanIfAny(person) ?? null, clean(after), asked),
    ),
  holdsFile: async (agentId, id) =>
    (await connections.one(SELECT_HOLD, clean(id), clean(`agent:${agentId}`))) !== undefined,
  fileBytes: async (person) => Number((await connections.one<{ used: number }>(SELECT_USED, clean(person)))?.used ?? 0),
});

/** Who refers to which file, for the plain files. */
export const allHolds = (connections: Connections): Promise<readonly { file: string; holder: string }[]> =>
  connections.all(SELECT_HOLDS);

/** Files are stored seldom: all changes of them wait for each other, so that a sweep and a put never meet halfway. */
const FILES_LOCK: Lock = ["names", "files"];

function wireFile({ file, quota }: OpOf<"file.put">): Wire {
  const shown = blobsOf(file)[1];
  return {
    id: clean(file.id),
    sha: clean(file.sha),
    blob: clean(file.blob),
    shown: cleanIfAny(shown),
    person: clean(file.behalf.person),
    size: file.size,
    at: whole(file.createdAt),
    record: JSON.stringify(file),
    quota: whole(quota),
  };
}

function wireHold({ files, by, person, ifKept, ifPosted }: OpOf<"file.hold">): Wire {
  const holder =
    "delivery" in by
      ? { delivery: clean(by.delivery) }
      : "agentId" in by
        ? { agentId: clean(by.agentId) }
        : { key: clean(by.sessionKey) };
  return { files: files.map(clean), person: cleanIfAny(person), ifKept, ifPosted, ...holder };
}

type FileOp = "file.stage" | "file.put" | "file.hold" | "file.remove" | "file.sweep" | "file.gone";

export const storedFileOps: OpForms<FileOp> = {
  "file.stage": {
    wire: ({ blobs, until }) => ({ blobs: blobs.map(clean), until: whole(until) }),
    locks: () => [FILES_LOCK],
  },
  "file.put": { wire: wireFile, locks: () => [FILES_LOCK] },
  "file.hold": { wire: wireHold, locks: () => [FILES_LOCK] },
  "file.remove": { wire: ({ id }) => ({ id: clean(id) }), locks: () => [FILES_LOCK] },
  "file.sweep": {
    wire: ({ before, limit, after }) => ({ before: whole(before), limit, after: cleanIfAny(after) }),
    locks: () => [FILES_LOCK],
  },
  "file.gone": { wire: ({ blobs }) => ({ blobs: blobs.map(clean) }), locks: () => [FILES_LOCK] },
};
