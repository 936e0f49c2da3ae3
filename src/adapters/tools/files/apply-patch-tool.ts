/**
 * `apply_patch`: changes several files. All new contents are computed before the first file changes; each file is then replaced
 * whole, if it is still the file that was read. Never repeated after a crash: some files may have changed.
 */
import type { Stats } from "node:fs";
import { z } from "zod";
import { DeniedError, errorText, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Tool, ToolContext } from "../../../core/ports/tool.ts";
import type { Places } from "./allowed-path.ts";
import { patched } from "./apply-hunks.ts";
import { keptAround, previewOf } from "./file-changes.ts";
import { writesMarked } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { type FilePatch, parsePatch } from "./parse-patch.ts";
import { readTrusted } from "./read-trusted.ts";
import { removeInside } from "./remove-inside.ts";
import { writeInside } from "./write-inside.ts";
import { checkSize } from "./write-tool.ts";

const MAX_PATCH = 1_000_000;

const input = z.strictObject({
  patch: z
    .string()
    .max(MAX_PATCH)
    .describe('"*** Begin Patch", per file "*** Update File: PATH" (or Add, Delete) with @@ hunks, "*** End Patch"'),
});

export const applyPatchTool = (deps: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "apply_patch",
  description: "Changes, adds and deletes several files of the workspace with one patch.",
  input,
  rights: ["read", "write"],
  replay: "never",
  parallel: false,
  maxOutput: 4_000,
  effects: effectsOnFiles(deps, "apply_patch", ["read", "write"], ({ patch }) =>
    pathsIn(patch).map((path) => ({ access: "write", path })),
  ),
  async preview({ patch }, agent) {
    const shown = await Promise.all(
      parsePatch(patch).map((one) => previewOf(deps, agent, one.path, (before) => contentAfter(one, before ?? ""))),
    );
    // Files whose changes are not kept are shown by the patch itself.
    return shown.some((one) => one === undefined) ? undefined : shown.join("\n");
  },
  async execute({ patch }, context) {
    const places = await deps.placesOf(context.agent);
    const planned: Planned[] = [];
    for (const one of parsePatch(patch)) planned.push(await plan(deps, places, one));
    const lines: string[] = [];
    for (const one of planned) {
      try {
        lines.push(await carryOut(deps, places, one, context));
      } catch (error) {
        // Files before it have changed already, so the model must know which.
        const text = [
          ...lines,
          `${one.path} was not changed: ${errorText(error)}`,
          "The files after it were not changed.",
        ];
        return { content: [{ type: "text", text: text.join("\n") }], isError: true };
      }
    }
    return { content: [{ type: "text", text: lines.join("\n") }] };
  },
});

/** A patch that cannot be read changes nothing. */
function pathsIn(patch: string): readonly string[] {
  try {
    return parsePatch(patch).map(({ path }) => path);
  } catch {
    return [];
  }
}

type Planned = { readonly path: string } & (
  | { readonly is: "add"; readonly content: string }
  | { readonly is: "update"; readonly content: string; readonly stats: Stats; readonly isMarked: boolean }
  | { readonly is: "delete"; readonly stats: Stats }
);

async function plan(deps: FileToolDeps, places: Places, one: FilePatch): Promise<Planned> {
  const { path } = one;
  if (one.is === "add") {
    const exists = await readTrusted(deps, places, path).then(
      () => true,
      (error) => {
        // What is not text exists too.
        if (error instanceof DeniedError) throw error;
        return !(error instanceof NotFoundError);
      },
    );
    if (exists) throw new InvalidInputError(`${path} exists already.`, { hint: "Use Update File." });
    checkSize(one.content, path);
    return one;
  }
  const { text, stats, real } = await readTrusted(deps, places, path);
  if (one.is === "delete") return { is: "delete", path, stats };
  const content = contentAfter(one, text) ?? "";
  checkSize(content, path);
  return { is: "update", path, content, stats, isMarked: deps.marks.has(real, text) };
}

/** Null: it is deleted. */
function contentAfter(one: FilePatch, before: string): string | null {
  if (one.is === "add") return one.content;
  return one.is === "delete" ? null : patched(before, one.hunks, one.path);
}

async function carryOut(deps: FileToolDeps, places: Places, one: Planned, context: ToolContext): Promise<string> {
  const { disk } = deps;
  const { path } = one;
  const around = (after: string | null, isMarked: boolean) =>
    keptAround(deps, context, "apply_patch", { after, isMarked });
  if (one.is === "delete") {
    await removeInside(disk, places, path, { replaces: one.stats, around: around(null, false) });
    return `Deleted ${path}.`;
  }
  const isMarked = writesMarked(context) || (one.is === "update" && one.isMarked);
  const replaces = one.is === "update" ? one.stats : undefined;
  await writeInside(disk, places, path, one.content, { replaces, around: around(one.content, isMarked) });
  return one.is === "add" ? `Added ${path}.` : `Updated ${path}.`;
}
