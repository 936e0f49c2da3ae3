/** Files of the file store, as tools use them: those that their agent refers to, by id. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { FileService } from "../../../engine/files/file-service.ts";

export interface StoredFiles {
  /** Throws `NotFoundError` unless the agent refers to the file. */
  find(agent: AgentRecord, id: string): Promise<StoredFile>;
  /** Undefined if the bytes are missing. */
  read(blob: string): Promise<Uint8Array | undefined>;
  /** A file of the run's own, with the mark that `behalf` has. */
  put(file: { readonly data: Uint8Array; readonly name: string; readonly behalf: Behalf }): Promise<StoredFile>;
}

export const isFileId = (path: string): boolean => /^file_[0-9a-f]{32}$/.test(path);

export const storedFiles = (
  store: Pick<StoreReader, "file" | "holdsFile">,
  files: Pick<FileService, "read" | "put">,
): StoredFiles => ({
  async find({ id: agentId }, id) {
    const file = (await store.holdsFile(agentId as AgentId, id)) ? await store.file(id) : undefined;
    if (file) return file;
    throw new NotFoundError(`There is no file ${id} in this conversation.`);
  },
  read: (blob) => files.read({ blob }),
  put: (file) => files.put({ ...file, from: "behalf" }),
});
