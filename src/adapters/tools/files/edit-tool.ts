/**
 * `edit`: replaces a text in a file. Never repeated after a crash: if the new text contains the old one, a second edit would
 * change the file again, and the file does not show whether the first one happened.
 */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { keptAround, previewOf } from "./file-changes.ts";
import { writesMarked } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { readTrusted } from "./read-trusted.ts";
import { writeInside } from "./write-inside.ts";
import { checkSize } from "./write-tool.ts";

const input = z.strictObject({
  path: z.string().describe("The file, relative to the workspace"),
  oldText: z.string().min(1).describe("The text to replace, exactly as it is in the file"),
  newText: z.string().describe("What to put in its place"),
  all: z.boolean().optional().describe("Replace every occurrence; without it there must be exactly one"),
});

export const editTool = (deps: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "edit",
  description: "Replaces a text in a file of the workspace. The old text must occur exactly once, or set all.",
  input,
  rights: ["read", "write"],
  replay: "never",
  parallel: false,
  maxOutput: 1_000,
  effects: effectsOnFiles(deps, "edit", ["read", "write"], ({ path }) => [{ access: "write", path }]),
  preview: (given, agent) => previewOf(deps, agent, given.path, (before) => edited(before ?? "", given).text),
  async execute(given, context) {
    const { path } = given;
    const places = await deps.placesOf(context.agent);
    const { text, stats, real } = await readTrusted(deps, places, path);
    const { text: after, found } = edited(text, given);
    checkSize(after, path);
    // What is left of a marked text keeps the mark.
    const isMarked = writesMarked(context) || deps.marks.has(real, text);
    const around = keptAround(deps, context, "edit", { after, isMarked });
    await writeInside(deps.disk, places, path, after, { replaces: stats, around });
    return { content: [{ type: "text", text: `Edited ${path} (${found} ${found === 1 ? "place" : "places"}).` }] };
  },
});

/** Throws unless the old text occurs as often as it should. */
function edited(
  text: string,
  { path, oldText, newText, all = false }: z.infer<typeof input>,
): { readonly text: string; readonly found: number } {
  if (oldText === newText) throw new InvalidInputError("The old and the new text are the same.");
  const parts = text.split(oldText);
  const found = parts.length - 1;
  if (found === 0) throw new InvalidInputError(`The old text is not in ${path}.`, { hint: "Read it again." });
  if (found > 1 && !all) {
    throw new InvalidInputError(`The old text is in ${path} ${found} times.`, {
      hint: "Include more of the text around it, or set all.",
    });
  }
  return { text: parts.join(newText), found };
}
