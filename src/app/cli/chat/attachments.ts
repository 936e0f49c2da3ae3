/**
 * Files that a person names in a message: `@notes.md`, `@"my notes.md"`, or the path of a picture that was dropped on the
 * terminal. The text stays as it is; the files are stored with the engine and sent with the message.
 */
import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { InvalidInputError } from "../../../core/errors.ts";
import type { EngineApi } from "../../client/engine-api.ts";

const MAX_FILES = 10;
const MAX_BYTES = 50 * 1024 * 1024;
/** Looked at in one message. */
const MAX_WORDS = 2_000;
const DROPPED = /\.(?:png|jpe?g|gif|webp|pdf)$/iu;

/** The paths that a text names, in its order, each once. Not yet whether they exist. */
export function pathsIn(text: string): readonly { readonly path: string; readonly isNamed: boolean }[] {
  const found = new Map<string, boolean>();
  for (const word of wordsOf(text)) {
    const isNamed = word.startsWith("@") && word.length > 1;
    const path = isNamed ? word.slice(1) : word;
    const isDropped = !isNamed && /^[/~]/u.test(path) && path.includes("/", 1) && DROPPED.test(path);
    if (isNamed || isDropped) found.set(unquoted(path), isNamed);
  }
  return [...found].map(([path, isNamed]) => ({ path, isNamed }));
}

/** Words; a part in quotes is one, and so is a space behind a backslash. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  let word = "";
  let quote = "";
  for (let at = 0; at < text.length && words.length < MAX_WORDS; at++) {
    const char = text[at] ?? "";
    if (quote !== "") {
      if (char === quote) quote = "";
      word += char;
    } else if (/\s/u.test(char)) {
      if (word !== "") words.push(word);
      word = "";
    } else if (char === "\\" && text[at + 1] === " ") {
      word += " ";
      at += 1;
    } else {
      if (char === '"' && (word === "" || word === "@")) quote = char;
      word += char;
    }
  }
  return word === "" ? words : [...words, word];
}

const unquoted = (path: string): string =>
  path.startsWith('"') ? path.slice(1, path.endsWith('"') ? -1 : undefined) : path;

export interface Attachment {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Reads the files of a text. A word with @ that is no file stays a word: `@ann` may be a person. Throws if one cannot be sent. */
export async function attachmentsOf(text: string, cwd: string): Promise<readonly Attachment[]> {
  const attachments: Attachment[] = [];
  for (const { path } of pathsIn(text)) {
    const file = resolve(cwd, path.startsWith("~/") ? homedir() + path.slice(1) : path);
    const info = await stat(file).catch(() => undefined);
    if (!info?.isFile()) continue;
    if (info.size > MAX_BYTES) {
      throw new InvalidInputError(`${basename(file)} is larger than ${MAX_BYTES / 1024 / 1024} MB.`, {
        hint: "Put it where the agent can read it, and name its path without @.",
      });
    }
    if (attachments.length >= MAX_FILES) {
      throw new InvalidInputError(`A message has at most ${MAX_FILES} files.`, {
        hint: "Send the others with the next.",
      });
    }
    attachments.push({ name: basename(file), bytes: new Uint8Array(await readFile(file)) });
  }
  return attachments;
}

/** The ids of the files, stored with the engine. The same content is stored once. */
export async function storeFiles(api: EngineApi, files: readonly Attachment[]): Promise<readonly string[] | undefined> {
  const ids: string[] = [];
  for (const { name, bytes } of files) ids.push((await api.upload<{ id: string }>("/api/files", bytes, { name })).id);
  return ids.length === 0 ? undefined : ids;
}
