/**
 * Fetches the files of a message and stores them for their sender. A file that is too large, or that the channel does not give, is named
 * in the text with the reason: nothing is left out silently.
 */
import { errorText } from "../../../core/errors.ts";
import type { FileReference } from "../../../core/file-reference.ts";
import type { ConnectorFiles } from "../../../core/ports/connector.ts";
import { missingFileNote, type RemoteFile } from "./chat-message.ts";

export interface FetchDeps {
  readonly files: ConnectorFiles | undefined;
  /** The content, or why the channel never gives it. It may reject; then it is tried again. */
  download(file: RemoteFile, limit: number): Promise<Uint8Array | { readonly refused: string }>;
}

interface FetchedFiles {
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
  { download, files }: FetchDeps,
  userId: string,
  remote: RemoteFile,
): Promise<FileReference | string> {
  if (!files) return "files are not stored here";
  const limit = files.maxBytes;
  if ((remote.size ?? 0) > limit) return largerThan(limit);
  let why = "";
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      const found = await download(remote, limit);
      if ("refused" in found) return found.refused;
      return await files.put({ data: found, name: remote.name, userId });
    } catch (error) {
      // An address may contain a token.
      why = errorText(error).replaceAll(/https?:\S+/gu, "the server");
    }
  }
  return why;
}

const largerThan = (limit: number): string => `it is larger than ${limit} bytes`;

/** The content of an address. Rejects if the server does not answer with it; `refused` if it is larger than the limit. */
export async function downloadUrl(
  url: string,
  limit: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<Uint8Array | { readonly refused: string }> {
  const response = await fetch(url, { headers, redirect: "error", signal: AbortSignal.timeout(FETCH_MS) });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new TypeError(`the server answered ${response.status}`);
  }
  return boundedBytes(response.body, limit);
}

export async function boundedBytes(
  stream: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array | { readonly refused: string }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) return { refused: largerThan(limit) };
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
