/**
 * A whole skill as one text: each file with its path, in the order of the paths. The hash of this text is the hash of the skill's content,
 * and its difference is what people review. The paths come from outside: each is checked here, and what is not sure is refused.
 */
import { InvalidInputError } from "../../../core/errors.ts";
import { decode } from "../../tools/files/read-text.ts";

/** The content of a skill by path. */
export type SkillFiles = ReadonlyMap<string, Buffer>;

export const MAX_FILES = 200;
export const MAX_FILE = 1024 * 1024;
export const MAX_SKILL = 4 * 1024 * 1024;
const MAX_PATH = 200;
const MAX_DEPTH = 8;

/** Throws `InvalidInputError` if a path may not be in a skill, or if there is too much. */
export function checkFiles(files: Iterable<readonly [path: string, bytes: number]>): void {
  const seen = new Map<string, string>();
  const directories = new Map<string, string>();
  let total = 0;
  let count = 0;
  for (const [path, bytes] of files) {
    checkPath(path);
    const key = sameName(path);
    const twin = seen.get(key);
    if (twin !== undefined) throw refused(`it has the file ${quoted(path)} twice (${quoted(twin)})`);
    seen.set(key, path);
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      const directory = path.slice(0, at);
      const known = directories.get(sameName(directory));
      if (known !== undefined && known !== directory)
        throw refused(`it has the directory ${quoted(directory)} twice (${quoted(known)})`);
      directories.set(sameName(directory), directory);
    }
    if (++count > MAX_FILES) throw refused(`it has more than ${MAX_FILES} files`);
    if (bytes > MAX_FILE) throw refused(`${quoted(path)} is larger than 1 MB`);
    total += bytes;
    if (total > MAX_SKILL) throw refused("its files are larger than 4 MB together");
  }
  for (const [key, path] of seen)
    if (directories.has(key)) throw refused(`${quoted(path)} is a file and a directory in it`);
}

/** As file systems see it that do not tell letters apart. */
const sameName = (path: string): string => path.normalize("NFC").toLowerCase().normalize("NFC");

/** Throws if the path could lead out of the skill, or could be read as something else than it is. */
export function checkPath(path: string): void {
  if (path.length > MAX_PATH) throw refused(`the path ${quoted(path)} is longer than ${MAX_PATH} characters`);
  if (!path.isWellFormed() || /[\p{C}\p{Zl}\p{Zp}\\:]/u.test(path))
    throw refused(`the path ${quoted(path)} has a character that names may not have`);
  const names = path.split("/");
  if (names.length > MAX_DEPTH) throw refused(`the path ${quoted(path)} is deeper than ${MAX_DEPTH} directories`);
  for (const name of names) {
    if (name === "" || name === "." || name === "..") throw refused(`the path ${quoted(path)} leads out of it`);
    if (name.toLowerCase() === ".git") throw refused(`it has a directory of git, ${quoted(path)}`);
    if (name !== name.trim() || name.endsWith("."))
      throw refused(`the path ${quoted(path)} begins or ends with a space or a point`);
  }
}

export const refused = (reason: string): InvalidInputError =>
  new InvalidInputError(`The skill is refused: ${reason}.`, { hint: "Nothing was changed." });

const quoted = (path: string): string => JSON.stringify(path.slice(0, 80));

const LINE = 76;
const MAX_HEAD = 1_000;

export function bundleOf(files: SkillFiles): string {
  checkFiles([...files].map(([path, bytes]) => [path, bytes.length]));
  return [...files]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, bytes]) => {
      const text = textOf(bytes);
      const shown = text ?? inLines(bytes.toString("base64"));
      const form = text === undefined ? "base64" : "text";
      return `=== ${path} (${form}, ${Buffer.byteLength(shown)} bytes)\n${shown}\n`;
    })
    .join("");
}

/** Undefined if the bytes are not text. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decode(bytes, "It");
  } catch {
    return undefined;
  }
}

function inLines(text: string): string {
  const lines: string[] = [];
  for (let at = 0; at < text.length; at += LINE) lines.push(text.slice(at, at + LINE));
  return lines.join("\n");
}

/** The files that a text of `bundleOf` has. Throws `InvalidInputError` for any other text. */
export function filesIn(bundle: string): SkillFiles {
  const all = Buffer.from(bundle);
  const files = new Map<string, Buffer>();
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf(0x0a, at);
    const head = /^=== (.+) \((text|base64), (\d{1,8}) bytes\)$/.exec(
      end === -1 || end - at > MAX_HEAD ? "" : all.toString("utf8", at, end),
    );
    const [, path = "", form, bytes] = head ?? [];
    const size = Number(bytes);
    const content = all.subarray(end + 1, end + 1 + size);
    if (!head || content.length !== size || all[end + 1 + size] !== 0x0a || files.has(path))
      throw refused("it is not the text of a skill");
    files.set(path, form === "text" ? content : Buffer.from(content.toString("latin1"), "base64"));
    at = end + size + 2;
  }
  if (bundleOf(files) !== bundle) throw refused("it is not the text of a skill");
  return files;
}
