/**
 * Fetches the files of a message and stores them for their sender. A file that is too large, or that the server does not give, is named
 * in the text with the reason: nothing is left out silently.
 */
import { errorText } from "../../../core/errors.ts";
import type { FileReference } from "../../../core/file-reference.ts";
import type { ConnectorFiles } from "../../../core/ports/connector.ts";
import type { BotApi } from "./bot-api.ts";
import { missingFileNote, type RemoteFile } from "./describe-content.ts";

export interface FetchDeps {
  readonly api: BotApi;
  readonly files: ConnectorFiles | undefined;
  readonly maxBytes: number;
}

export interface FetchedFiles {
  readonly files: readonly FileReference[];
  /** A line for each file that is not there. */
  readonly missing: readonly string[];
}

const TRIES = 3;
const FETCH_MS = 60_000;

export async function fetchFiles(
  deps: FetchDeps,
  userId: string,
  remote: readonly RemoteFile[],
): Promise<FetchedFiles> {
  const files: FileReference[] = [];
  const missing: string[] = [];
  for (const one of remote) {
    const fetched = await fetchOne(deps, userId, one);
    if (typeof fetched === "string") missing.push(missingFileNote(one, fetched));
    else files.push(fetched);
  }
  return { files, missing };
}

/** Why it is not there, if it is not. */
async function fetchOne(
  { api, files, maxBytes }: FetchDeps,
  userId: string,
  remote: RemoteFile,
): Promise<FileReference | string> {
  if (!files) return "files are not stored here";
  const limit = Math.min(maxBytes, files.maxBytes);
  if ((remote.size ?? 0) > limit) return `it is larger than ${limit} bytes`;
  let why = "";
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await api.call("getFile", { file_id: remote.fileId });
    if (found.status === "refused") return found.reason;
    try {
      const path = found.status === "ok" ? found.result.file_path : undefined;
      if (path === undefined) throw new TypeError("the server did not say where it is");
      const data = await download(api.fileUrl(path), limit);
      if (data === undefined) return `it is larger than ${limit} bytes`;
      return await files.put({ data, name: remote.name, userId });
    } catch (error) {
      // The address contains the token.
      why = errorText(error).replaceAll(/https?:\S+/gu, "the server");
    }
  }
  return why;
}

/** Undefined if it is larger than the limit. */
async function download(url: string, limit: number): Promise<Uint8Array | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) });
  if (!response.ok || !response.body) throw new TypeError(`the server answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
