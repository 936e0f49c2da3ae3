/**
 * The patch format that models know: files to add, delete and update, each update with hunks of old and new lines. Pure, and
 * linear in the text.
 */
import { InvalidInputError } from "../../../core/errors.ts";

export interface Hunk {
  /** A line of the file after which the hunk applies. */
  readonly after?: string;
  readonly before: readonly string[];
  readonly now: readonly string[];
}

export type FilePatch =
  | { readonly is: "add"; readonly path: string; readonly content: string }
  | { readonly is: "delete"; readonly path: string }
  | { readonly is: "update"; readonly path: string; readonly hunks: readonly Hunk[] };

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const HEADS = { add: "*** Add File: ", delete: "*** Delete File: ", update: "*** Update File: " } as const;
const MAX_FILES = 100;

const bad = (line: number, problem: string): InvalidInputError =>
  new InvalidInputError(`Line ${line} of the patch: ${problem}.`, {
    hint: `A patch is: ${BEGIN}, then for each file "${HEADS.update}PATH" with lines that begin with "@@", " ", "-" or "+", then ${END}.`,
  });

export function parsePatch(text: string): readonly FilePatch[] {
  const lines = text.replaceAll("\r\n", "\n").trim().split("\n");
  if (lines[0]?.trim() !== BEGIN) throw bad(1, `expected "${BEGIN}"`);
  if (lines.at(-1)?.trim() !== END) throw bad(lines.length, `expected "${END}"`);
  const patches: FilePatch[] = [];
  let at = 1;
  while (at < lines.length - 1) {
    const head = headOf(lines[at] ?? "");
    if (!head) throw bad(at + 1, "expected the name of a file");
    const begin = at + 1;
    at = begin;
    while (at < lines.length - 1 && !headOf(lines[at] ?? "")) at += 1;
    patches.push(patchOf(head, lines.slice(begin, at), begin + 1));
    if (patches.length > MAX_FILES) throw bad(at, `more than ${MAX_FILES} files`);
  }
  if (patches.length === 0) throw bad(2, "it names no file");
  const twice = patches.find(({ path }, index) => patches.findIndex((one) => one.path === path) !== index);
  if (twice) throw new InvalidInputError(`The patch names ${twice.path} twice.`);
  return patches;
}

interface Head {
  readonly is: FilePatch["is"];
  readonly path: string;
}

function headOf(line: string): Head | undefined {
  for (const is of ["add", "delete", "update"] as const) {
    if (line.startsWith(HEADS[is])) return { is, path: line.slice(HEADS[is].length).trim() };
  }
  return undefined;
}

function patchOf({ is, path }: Head, body: readonly string[], line: number): FilePatch {
  if (is === "delete") {
    if (body.some((text) => text.trim() !== "")) throw bad(line, "a file that is deleted has no lines");
    return { is, path };
  }
  if (is === "update") return { is, path, hunks: hunksOf(body, line) };
  const other = body.findIndex((text) => !text.startsWith("+"));
  if (other !== -1) throw bad(line + other, 'each line of a new file begins with "+"');
  return { is, path, content: body.map((text) => `${text.slice(1)}\n`).join("") };
}

function hunksOf(body: readonly string[], line: number): readonly Hunk[] {
  const hunks: { after?: string; before: string[]; now: string[] }[] = [];
  body.forEach((text, index) => {
    if (text.startsWith("@@")) {
      const after = text.slice(2).replace(/^ /, "").replace(/ @@$/, "");
      hunks.push({ after: after.trim() === "" ? undefined : after, before: [], now: [] });
      return;
    }
    if (hunks.length === 0) hunks.push({ before: [], now: [] });
    const hunk = hunks.at(-1);
    const sign = text[0] ?? " ";
    if (!hunk || !" -+".includes(sign))
      throw bad(line + index, 'expected a line that begins with " ", "-", "+" or "@@"');
    if (sign !== "+") hunk.before.push(text.slice(1));
    if (sign !== "-") hunk.now.push(text.slice(1));
  });
  if (hunks.length === 0) throw bad(line, "a file that is updated needs lines");
  return hunks;
}
