/** `write`: writes a whole text file. */
import { z } from "zod";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import { keptAround, madeBy, previewOf } from "./file-changes.ts";
import { writesMarked } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { MAX_FILE_BYTES } from "./read-text.ts";
import { writeInside } from "./write-inside.ts";

const input = z.strictObject({
  path: z.string().describe("The file, relative to the workspace; missing directories are made"),
  content: z.string().describe("All of its new content"),
});

export const writeTool = (deps: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "write",
  description: "Writes a text file of the workspace, replacing what was there.",
  input,
  rights: ["write"],
  // Writing the same content again changes nothing.
  replay: "safe",
  parallel: false,
  maxOutput: 1_000,
  effects: effectsOnFiles(deps, "write", ["write"], ({ path }) => [{ access: "write", path }]),
  preview: ({ path, content }, agent) => previewOf(deps, agent, path, () => content),
  made: madeBy(deps),
  async execute({ path, content }, context) {
    checkSize(content, path);
    // Someone may have changed the file since: it is not written a second time.
    if (await madeBy(deps)(context)) return { content: [{ type: "text", text: `Wrote ${path}.` }] };
    const places = await deps.placesOf(context.agent);
    const around = keptAround(deps, context, "write", { after: content, isMarked: writesMarked(context) });
    const { created, bytes } = await writeInside(deps.disk, places, path, content, { around });
    return { content: [{ type: "text", text: `${created ? "Wrote" : "Replaced"} ${path} (${bytes} bytes).` }] };
  },
});

export function checkSize(content: string, path: string): void {
  const bytes = Buffer.byteLength(content);
  if (bytes <= MAX_FILE_BYTES) return;
  throw new InvalidInputError(`${path} would have ${bytes} bytes; ${MAX_FILE_BYTES} is the limit.`);
}
