/** `list`: the entries of a directory, sorted by name. */
import type { Dirent } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Tool } from "../../../core/ports/tool.ts";
import type { Disk } from "./disk.ts";
import { fromFile } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { type OpenedDirectory, openDirectory } from "./open-inside.ts";

const MAX_LISTED = 500;

const input = z.strictObject({
  path: z.string().optional().describe("The directory, relative to the workspace; the workspace itself if left out"),
});

export const listTool = (deps: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "list",
  description: "Lists a directory of the workspace: directories end with /, links with @, files have their size.",
  input,
  rights: ["read"],
  replay: "safe",
  parallel: true,
  maxOutput: 40_000,
  effects: effectsOnFiles(deps, "list", ["read"], ({ path = "." }) => [{ access: "read", path }]),
  async execute({ path = "." }, { agent }) {
    const directory = await openDirectory(deps.disk, await deps.placesOf(agent), path);
    try {
      const entries = await deps.disk.readdir(directory.at("."));
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      const lines = await Promise.all(entries.slice(0, MAX_LISTED).map((entry) => lineOf(deps.disk, directory, entry)));
      const more = entries.length - lines.length;
      const note = more > 0 ? [`[${more} more are not shown]`] : [];
      // A name is text too.
      const isMarked = !deps.marks.isEmpty && entries.some(({ name }) => deps.marks.knows(join(directory.path, name)));
      return {
        content: [{ type: "text", text: [...lines, ...note].join("\n") || `${path} is empty.` }],
        untrusted: isMarked ? fromFile(path) : undefined,
      };
    } finally {
      await directory.handle.close();
    }
  },
});

async function lineOf(disk: Disk, directory: OpenedDirectory, entry: Dirent): Promise<string> {
  // A file name must not look like two lines.
  const name = entry.name.replace(/\p{Cc}/gu, "?");
  if (entry.isDirectory()) return `${name}/`;
  if (entry.isSymbolicLink()) return `${name}@`;
  if (!entry.isFile()) return `${name} (not a regular file)`;
  const stats = await disk.lstat(directory.at(entry.name)).catch(() => undefined);
  return stats ? `${name} (${stats.size} bytes)` : name;
}
