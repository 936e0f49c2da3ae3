/**
 * Puts files in the place of the blocks that stand for them, when a model is called: an image as an image, a text as text, a short
 * PDF as a document with its text for models that take none. Only a file that the agent refers to is shown; any other one, and one that was removed, is a placeholder (L13). The same history
 * and the same files always give the same bytes.
 */
import { documentBlock, documentOf, withoutDocument } from "../../core/history/document-block.ts";
import type { Block } from "../../core/history/entry.ts";
import { type BlockFile, fileOf, type TextBlock } from "../../core/history/file-block.ts";
import type { AgentId } from "../../core/ids.ts";
import type { StoredFile } from "../../core/message/stored-file.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { FileService } from "../files/file-service.ts";
import { escapeTags } from "./entries.ts";

/** Of the images and documents of one request, in base64: providers refuse larger requests. */
const MAX_IMAGE_CHARACTERS = 16_000_000;
const MAX_IMAGES = 50;
/** Of the documents of one request: a page costs up to 3,000 tokens. */
const MAX_PAGES = 40;
const MAX_DOCUMENT_BYTES = 8_000_000;
/** What is kept of messages with files, so that they are not read and encoded for each call. */
const MAX_KEPT = 64_000_000;

const GONE = "[This file is no longer stored.]";
const NOT_AGAIN = "[The image is not shown again, because later ones are. Open it with read if you need it.]";

interface Shown {
  readonly message: ModelMessage;
  /** The ids of the files that are in it. */
  readonly ids: readonly string[];
  readonly size: number;
}

export class ShownFiles {
  readonly #store: Pick<StoreReader, "file" | "holdsFile">;
  readonly #files: Pick<FileService, "read">;
  /** By the message of the history, the one used longest ago first. */
  readonly #kept = new Map<ModelMessage, Shown>();
  #size = 0;

  constructor(store: Pick<StoreReader, "file" | "holdsFile">, files: Pick<FileService, "read">) {
    this.#store = store;
    this.#files = files;
  }

  /** Returns the same array if no message has a file. */
  async show(agentId: AgentId, messages: readonly ModelMessage[]): Promise<readonly ModelMessage[]> {
    if (!messages.some(hasFiles)) return messages;
    const shown: ModelMessage[] = [];
    const room = { images: MAX_IMAGES, characters: MAX_IMAGE_CHARACTERS, pages: MAX_PAGES };
    // From the end: if not all images fit, the latest are shown.
    for (const message of messages.toReversed()) {
      shown.push(hasFiles(message) ? limited((await this.#shown(agentId, message)).message, room) : message);
    }
    return shown.reverse();
  }

  /** A message that is kept is shown again only as long as the agent may see all of its files. */
  async #shown(agentId: AgentId, message: ModelMessage): Promise<Shown> {
    const known = this.#kept.get(message);
    if (known && (await this.#allHeld(agentId, known.ids))) {
      this.#kept.delete(message);
      this.#kept.set(message, known);
      return known;
    }
    if (known) this.#forget(message, known);
    const fresh = await this.#read(agentId, message);
    this.#kept.set(message, fresh);
    this.#size += fresh.size;
    for (const [oldest, one] of this.#kept) {
      if (this.#size <= MAX_KEPT || oldest === message) break;
      this.#forget(oldest, one);
    }
    return fresh;
  }

  #forget(message: ModelMessage, { size }: Shown): void {
    if (this.#kept.delete(message)) this.#size -= size;
  }

  async #allHeld(agentId: AgentId, ids: readonly string[]): Promise<boolean> {
    for (const id of ids) if (!(await this.#store.holdsFile(agentId, id))) return false;
    return true;
  }

  async #read(agentId: AgentId, message: ModelMessage): Promise<Shown> {
    const content: Block[] = [];
    const ids: string[] = [];
    for (const block of message.content) {
      const named = fileOf(block);
      if (!named) content.push(block);
      else {
        const blocks = await this.#blocksOf(agentId, block as TextBlock, named);
        if (blocks) ids.push(named.id);
        content.push(...(blocks ?? [withNote(block as TextBlock, GONE)]));
      }
    }
    const size = content.reduce((sum, block) => sum + sizeOf(block), 0);
    return { message: { ...message, content }, ids, size };
  }

  /** Undefined if the agent does not refer to the file, or if its bytes are missing. */
  async #blocksOf(agentId: AgentId, block: TextBlock, { id }: BlockFile): Promise<readonly Block[] | undefined> {
    if (!(await this.#store.holdsFile(agentId, id))) return undefined;
    const file = await this.#store.file(id);
    if (!file) return undefined;
    const { shown } = file;
    if (shown.as === "reference") return [await this.#asDocument(file, block.text, block.text)];
    const bytes = await this.#files.read({ blob: shown.blob });
    if (!bytes) return undefined;
    if (shown.as === "text") {
      return [await this.#asDocument(file, block.text, `${block.text}\n${textOf(file, bytes)}`)];
    }
    return [plain(block.text), { type: "image", data: base64(bytes), mimeType: shown.mimeType }];
  }

  /** A PDF that is short enough as a document, any other file as the text. */
  async #asDocument({ name, mimeType, size, blob, shown }: StoredFile, line: string, text: string): Promise<Block> {
    const pages = shown.as === "image" ? undefined : shown.pages;
    if (pages === undefined || pages > MAX_PAGES || size > MAX_DOCUMENT_BYTES) return plain(text);
    const bytes = await this.#files.read({ blob });
    return bytes ? documentBlock(text, { mimeType, name, data: base64(bytes), pages, line }) : plain(text);
  }
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
const plain = (text: string): Block => ({ type: "text", text });
const withNote = (block: TextBlock, note: string): Block => plain(`${block.text}\n${note}`);
const hasFiles = ({ content }: ModelMessage): boolean =>
  content.some((block) => block.type === "text" && block.file !== undefined);
const sizeOf = (block: Block): number => {
  if (block.type === "image") return block.data.length;
  return block.type === "text" ? block.text.length + (documentOf(block)?.data.length ?? 0) : 0;
};

/** The tag is the engine's: text inside that reads like one is escaped. */
function textOf({ id, shown }: StoredFile, bytes: Uint8Array): string {
  const text = escapeTags(new TextDecoder().decode(bytes));
  const of = shown.as === "text" && shown.of !== undefined ? ` of="${shown.of}"` : "";
  const cut = shown.as === "text" && shown.cut ? `\n[There is more. Open it with read, path ${id}.]` : "";
  return `<file_content${of}>\n${text}\n</file_content>${cut}`;
}

interface Room {
  images: number;
  characters: number;
  pages: number;
}

/** Leaves out the images that no longer fit; a document becomes its text. `room` is what later messages have left. */
function limited(message: ModelMessage, room: Room): ModelMessage {
  let left = false;
  const content = message.content.toReversed().map((block): Block => {
    const document = documentOf(block);
    if (document) {
      if (document.pages <= room.pages && document.data.length <= room.characters) {
        room.pages -= document.pages;
        room.characters -= document.data.length;
        return block;
      }
      left = true;
      return withoutDocument(block);
    }
    if (block.type !== "image") return block;
    room.images -= 1;
    room.characters -= block.data.length;
    if (room.images >= 0 && room.characters >= 0) return block;
    left = true;
    return plain(NOT_AGAIN);
  });
  return left ? { ...message, content: content.reverse() } : message;
}
