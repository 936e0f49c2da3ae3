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
  link.href = URL.createObjectURL(await contentOf(id));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS);
}

/** The browser has begun to save it by then. */
const REVOKE_MS = 60_000;

export const downloadById = async (id: string): Promise<void> =>
  download(await api.get<StoredFile>(pathOf("api", "files", id)));

/** Must not reject: a file that is gone leaves the text that stands for it. */
export async function showPicture(image: HTMLImageElement, id: string): Promise<void> {
  const content = await pictureOf(id).catch(() => undefined);
  if (content === undefined) return;
  const url = URL.createObjectURL(content);
  const release = (): void => URL.revokeObjectURL(url);
  image.onload = release;
  image.onerror = release;
  image.src = url;
}

/** The latest ones are kept: a text that grows is rendered again and again. */
function pictureOf(id: string): Promise<Blob> {
  const content = pictures.get(id) ?? contentOf(id);
  pictures.delete(id);
  pictures.set(id, content);
  content.catch(() => pictures.delete(id));
  const [oldest] = pictures.keys();
  if (pictures.size > MAX_PICTURES && oldest !== undefined) pictures.delete(oldest);
  return content;
}

const MAX_PICTURES = 30;
const pictures = new Map<string, Promise<Blob>>();

/** Without a type that a browser would show as a page of this origin. */
const contentOf = async (id: string): Promise<Blob> =>
  new Blob([await api.bytes(pathOf("api", "files", id, "content"))], { type: "application/octet-stream" });
