/** Files of people, and what a program gives as one: bytes or a `Blob`, never a path in a string. */
import { InvalidInputError } from "../../core/errors.ts";
import { assertKnownKeys } from "../../core/known-keys.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

export interface FileInfo {
  readonly id: string;
  readonly name: string;
  /** Found from the content. */
  readonly mimeType: string;
  readonly size: number;
  readonly sha256: string;
  readonly createdAt: number;
  /** What models are shown of it: an image, its text, or only that it exists. */
  readonly as: "image" | "text" | "reference";
  /** How long that text is. */
  readonly characters?: number;
  /** Why it is only a reference, if more could have been shown. */
  readonly why?: string;
}

interface StoredFile extends FileInfo {
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  text(): Promise<string>;
}

type FileContent = Uint8Array | ArrayBuffer | Blob;

/** Content with a name, or a file that is stored already. */
export type GivenFile = FileContent | { readonly data: FileContent; readonly name?: string } | { readonly id: string };

interface FileOwner {
  /** Whose file it is. Default: the person of this client. */
  readonly user?: string;
}

export interface Files {
  /**
   * Stores a file; durable when it resolves. The same content under the same name is the same file. Nothing refers to it yet: it is
   * removed after a day unless a message does.
   */
  put(content: FileContent, options?: FileOwner & { readonly name?: string }): Promise<FileInfo>;
  /** The content of a file. Changes nothing. */
  get(id: string, options?: FileOwner): Promise<StoredFile>;
  /** By id. Send `next` as `after` for the next page. Changes nothing. */
  list(options?: FileOwner & { readonly after?: string; readonly limit?: number }): Promise<{
    readonly items: readonly FileInfo[];
    readonly next: string | null;
  }>;
  /** How much of the quota the files use. Changes nothing. */
  usage(options?: FileOwner): Promise<{ readonly usedBytes: number; readonly quotaBytes: number }>;
  /** Where a message refers to it, the model reads that it is gone. Durable when it resolves. */
  remove(id: string, options?: FileOwner): Promise<void>;
  /** Removes all files of a person, and returns how many. The owner may name another `person`. Durable when it resolves. */
  removeAll(options?: FileOwner & { readonly person?: string }): Promise<number>;
}

export const filesOf = (api: EngineApi): Files => ({
  put: (content, options) => putFile(api, content, options),
  async get(id, options) {
    const info = await api.get<FileInfo>(pathOf("api", "files", id), { ...options });
    const bytes = () => api.bytes(pathOf("api", "files", id, "content"), { ...options });
    return { ...info, bytes, text: async () => new TextDecoder().decode(await bytes()) };
  },
  list: (options) => api.get("/api/files", { ...options }),
  usage: (options) => api.get("/api/files/usage", { ...options }),
  async remove(id, options) {
    await api.delete(pathOf("api", "files", id), { ...options });
  },
  async removeAll(options) {
    return (await api.delete<{ removed: number }>("/api/files", { ...options })).removed;
  },
});

async function putFile(
  api: EngineApi,
  content: FileContent,
  { name, signal, ...owner }: FileOwner & { readonly name?: string; readonly signal?: AbortSignal } = {},
): Promise<FileInfo> {
  const named = name ?? (content as { readonly name?: unknown }).name;
  const query = { ...owner, name: typeof named === "string" ? named : undefined };
  return api.upload("/api/files", await bytesOf(content), query, signal);
}

/** The ids of the files of a message. What is not stored yet is stored now, for the user who sends it. */
export async function storeGiven(
  api: EngineApi,
  given: readonly GivenFile[] | undefined,
  owner: FileOwner & { readonly signal?: AbortSignal },
): Promise<readonly string[] | undefined> {
  if (!given || given.length === 0) return undefined;
  const ids: string[] = [];
  for (const file of given) {
    if (typeof file === "object" && file !== null && "id" in file && typeof file.id === "string") ids.push(file.id);
    else if (typeof file === "object" && file !== null && "data" in file) {
      assertKnownKeys("A file", file, { data: true, name: true });
      ids.push((await putFile(api, file.data, { ...owner, name: file.name })).id);
    } else ids.push((await putFile(api, file as FileContent, owner)).id);
  }
  return ids;
}

async function bytesOf(content: FileContent): Promise<Uint8Array<ArrayBuffer>> {
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (ArrayBuffer.isView(content)) {
    return Uint8Array.from(new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
  }
  if (typeof Blob !== "undefined" && content instanceof Blob) return new Uint8Array(await content.arrayBuffer());
  throw new InvalidInputError("A file is given as bytes or a Blob; a string is never a file.", {
    hint: "Read it first: `fileFromPath(path)` does this in Node.",
  });
}
