/** `read`: the lines of a text file, in parts, or an image. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Block } from "../../../core/history/entry.ts";
import { fileBlock } from "../../../core/history/file-block.ts";
import { referenceTo } from "../../../core/message/stored-file.ts";
import { isUntrusted } from "../../../core/people/behalf.ts";
import type { Tool, ToolOutput } from "../../../core/ports/tool.ts";
import { mediaTypeOf } from "../../files/media-type.ts";
import { IMAGE_TYPES, shownImage } from "../../files/show-image.ts";
import { fromFile } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { decode } from "./read-text.ts";
import { readTrustedBytes } from "./read-trusted.ts";
import { isFileId, type StoredFiles } from "./stored-files.ts";

const MAX_READ_LINES = 2_000;
const MAX_READ_CHARACTERS = 40_000;

const input = z.strictObject({
  path: z.string().describe("The file, relative to the workspace, or the id of a file of this conversation"),
  offset: z.int().min(1).optional().describe("The first line to show; counts from 1"),
  limit: z.int().min(1).max(MAX_READ_LINES).optional().describe("How many lines to show"),
});

export const readTool = (deps: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "read",
  description: `Reads a text file or an image of the workspace. Shows at most ${MAX_READ_LINES} lines; use offset to go on.`,
  input,
  rights: ["read"],
  replay: "safe",
  parallel: true,
  // The text is limited here and ends with a note on how to continue; the note needs room too.
  maxOutput: MAX_READ_CHARACTERS + 500,
  effects: effectsOnFiles(deps, "read", ["read"], ({ path }) => [{ access: "read", path }]),
  async execute({ path, offset = 1, limit = MAX_READ_LINES }, { agent }) {
    if (deps.stored && isFileId(path)) return readStored(deps.stored, agent, path, offset, limit);
    const { bytes, real } = await readTrustedBytes(deps, await deps.placesOf(agent), path);
    const image = await imageOf(bytes, path);
    if (image) return { content: image, untrusted: deps.marks.knows(real) ? fromFile(path) : undefined };
    const text = decode(bytes, path);
    const untrusted = deps.marks.has(real, text) ? fromFile(path) : undefined;
    return { content: [{ type: "text", text: portion(text, path, offset, limit) }], untrusted };
  },
});

/** The longer side of an image as the model is shown it. */
const IMAGE_SIDE = 1_568;

/** The image in a file, scaled down; undefined if the file is none. */
async function imageOf(bytes: Uint8Array, path: string): Promise<readonly Block[] | undefined> {
  if (!bytes.includes(0)) return undefined;
  const mimeType = await mediaTypeOf(bytes);
  if (!IMAGE_TYPES.includes(mimeType)) return undefined;
  const shown = await shownImage(bytes, mimeType, IMAGE_SIDE);
  if (shown.as !== "image")
    throw new InvalidInputError(`${path} cannot be shown: it is damaged or has too many pixels.`);
  const data = Buffer.from(shown.data ?? bytes).toString("base64");
  const text = `${path}: ${mimeType}, ${bytes.length} bytes`;
  return [
    { type: "text", text },
    { type: "image", data, mimeType: shown.mimeType },
  ];
}

/** A text or the text of a PDF in parts; an image as an image. */
async function readStored(
  stored: StoredFiles,
  agent: AgentRecord,
  id: string,
  offset: number,
  limit: number,
): Promise<ToolOutput> {
  const file = await stored.find(agent, id);
  const { name, mimeType, size, behalf, shown } = file;
  const untrusted = isUntrusted(behalf) ? fromFile(name) : undefined;
  const named = `${name} (${mimeType}, ${size} bytes)`;
  if (shown.as === "image") return { content: [fileBlock(named, referenceTo(file))], untrusted };
  if (shown.as === "reference")
    throw new InvalidInputError([`${named} is not a text.`, shown.why ?? []].flat().join(" "));
  // The file itself if it is a text: more than a model is shown at once.
  const bytes = await stored.read(shown.of === undefined ? file.blob : shown.blob);
  if (!bytes) throw new NotFoundError(`The content of ${name} is no longer stored.`);
  return { content: [{ type: "text", text: portion(decode(bytes, name), name, offset, limit) }], untrusted };
}

/** The lines from `offset` on, as many as fit, and a note if there are more. */
function portion(text: string, path: string, offset: number, limit: number): string {
  if (text === "") return `${path} is empty.`;
  const lines = text.replace(/\n$/, "").split("\n");
  if (offset > lines.length) throw new InvalidInputError(`${path} has ${lines.length} lines only.`);
  const shown: string[] = [];
  let room = MAX_READ_CHARACTERS;
  for (const line of lines.slice(offset - 1, offset - 1 + limit)) {
    if (shown.length > 0 && line.length + 1 > room) break;
    shown.push(line.slice(0, room));
    room -= line.length + 1;
  }
  const last = offset + shown.length - 1;
  const cutLine = (lines[last - 1]?.length ?? 0) > (shown.at(-1)?.length ?? 0);
  const notes = [
    ...(cutLine ? [`line ${last} is cut, it has ${lines[last - 1]?.length} characters`] : []),
    ...(last < lines.length ? [`lines ${offset} to ${last} of ${lines.length}; go on with offset ${last + 1}`] : []),
  ];
  return notes.length === 0 ? shown.join("\n") : `${shown.join("\n")}\n\n[${notes.join("; ")}]`;
}
