/** Uploading a file: its bytes, under a name. The server says what it is by its content. And the way back. */
import { ApiError, pathOf } from "../../src/client-browser.ts";
import { api } from "./api.ts";
import { BASE } from "./base.ts";
import { fetchWithLogin } from "./login.ts";

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
  const response = await fetchWithLogin(`${BASE}/api/files?name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
  });
  const json = (await response.json()) as StoredFile & { error?: Reported };
  if (json.error) throw new ApiError(response.status, json.error);
  return json;
}

/** A plain link has no login, so the page reads the file, of at most `files.maxBytes`, and gives it to the browser to save. */
export async function download({ id, name }: Pick<StoredFile, "id" | "name">): Promise<void> {
  const link = document.createElement("a");
  link.href = addressOf(await contentOf(id));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS);
}

/** The browser has begun to save it by then. */
const REVOKE_MS = 60_000;

export const downloadById = async (id: string): Promise<void> =>
  download(await api.get<StoredFile>(pathOf("api", "files", id)));

/** The address of a picture, for an `img`. The latest ones are kept: a text that grows is rendered again and again. */
export function pictureAddress(id: string): Promise<string> {
  const made = pictures.get(id) ?? contentOf(id).then(addressOf);
  pictures.delete(id);
  pictures.set(id, made);
  made.catch(() => pictures.delete(id));
  const [oldest] = pictures.keys();
  if (pictures.size > MAX_PICTURES && oldest !== undefined) {
    void pictures.get(oldest)?.then(URL.revokeObjectURL, () => undefined);
    pictures.delete(oldest);
  }
  return made;
}

const MAX_PICTURES = 30;
const pictures = new Map<string, Promise<string>>();

const contentOf = (id: string): Promise<Uint8Array<ArrayBuffer>> => api.bytes(pathOf("api", "files", id, "content"));

/** Without a type that a browser would show as a page of this origin. */
const addressOf = (bytes: Uint8Array<ArrayBuffer>): string =>
  URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
