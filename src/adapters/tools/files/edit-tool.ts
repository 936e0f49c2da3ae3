/**
 * `edit`: replaces one text in a file by another. Never repeated after a crash: where the new text holds the old one, a
 * second time would change the file again, and nothing in it tells whether the first time happened.
 */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { FileToolDeps } from "./file-tool-deps.ts";
import { readText } from "./read-text.ts";
import { writeInside } from "./write-inside.ts";
import { checkSize } from "./write-tool.ts";

const input = z.object({
  path: z.string().describe("The file, relative to the workspace"),
  oldText: z.string().min(1).describe("The text to replace, exactly as it stands in the file"),
  newText: z.string().describe("What to put in its place"),
  all: z.boolean().optional().describe("Replace every occurrence; without it there must be exactly one"),
});

export const editTool = ({ disk, placesOf }: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "edit",
  description: "Replaces a text in a file of the workspace. The old text must stand there exactly once, or say all.",
  input,
  rights: ["read", "write"],
  replay: "never",
  parallel: false,
  maxOutput: 1_000,
  async execute({ path, oldText, newText, all = false }, { agent }) {
    if (oldText === newText) throw new InvalidInputError("The old and the new text are the same.");
    const places = await placesOf(agent);
    const { text, stats } = await readText(disk, places, path);
    const parts = text.split(oldText);
    const found = parts.length - 1;
    if (found === 0) throw new InvalidInputError(`The old text does not stand in ${path}.`, { hint: "Read it again." });
    if (found > 1 && !all) {
      throw new InvalidInputError(`The old text stands in ${path} ${found} times.`, {
        hint: "Give more of what is around it, or say all.",
      });
    }
    const edited = parts.join(newText);
    checkSize(edited, path);
    await writeInside(disk, places, path, edited, stats);
    return { content: [{ type: "text", text: `Edited ${path} (${found} ${found === 1 ? "place" : "places"}).` }] };
  },
});
