/** Uploading a file: its bytes, under a name. The server says what it is by its content. */
import { ApiError } from "../../src/client-browser.ts";
import { BASE } from "./api.ts";

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly size: number;
  readonly createdAt: number;
}

interface Reported {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly retryable: boolean;
}

/** Rejects with `ApiError` if the server refuses it, as too large or over the quota. */
export async function upload(file: File): Promise<StoredFile> {
  const response = await fetch(`${BASE}/api/files?name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
  });
  const json = (await response.json()) as StoredFile & { error?: Reported };
  if (json.error) throw new ApiError(response.status, json.error);
  return json;
}

export const contentUrl = (id: string): string => `${BASE}/api/files/${encodeURIComponent(id)}/content`;
