/** `find`: files by their names. A name is shown only if the file is inside, with every link resolved. */
import { join } from "node:path";
import { z } from "zod";
import type { Tool } from "../../../core/ports/tool.ts";
import { allowedPath, pathText } from "./allowed-path.ts";
import { fromFile } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { cwdOf, shown } from "./grep-tool.ts";
import { openDirectory } from "./open-inside.ts";
import { runRipgrep } from "./run-ripgrep.ts";

const MAX_FOUND = 500;

const input = z.strictObject({
  glob: z.string().min(1).max(500).describe('Such as "**/*.md"'),
  path: z.string().optional().describe("Directory, relative to the workspace"),
});

export const findTool = (deps: FileToolDeps): Tool<z.infer<typeof input>> => ({
  name: "find",
  description: "Finds files of the workspace by name.",
  input,
  rights: ["read"],
  replay: "safe",
  parallel: true,
  maxOutput: 40_000,
  effects: effectsOnFiles(deps, "find", ["read"], ({ path = "." }) => [{ access: "read", path }]),
  async execute({ glob, path = "." }, { agent, signal }) {
    const places = await deps.placesOf(agent);
    const directory = await openDirectory(deps.disk, places, path);
    try {
      const args = ["--files", "--null", `--glob=${glob}`, "--", "."];
      const { text, isCut } = await runRipgrep({ args, cwd: cwdOf(deps, directory), signal, maxBytes: 200_000 });
      const names = text
        .split("\0")
        .slice(0, -1)
        .map((name) => join(path, name));
      const real = await Promise.all(
        names.slice(0, MAX_FOUND).map(async (name) => {
          const found = await allowedPath(deps.disk, places, name, "read").catch(() => undefined);
          return found && found.missing.length === 0 ? { name, path: pathText(found) } : undefined;
        }),
      );
      const inside = real.filter((one) => one !== undefined);
      const marked = inside.find((one) => deps.marks.knows(one.path));
      const note = isCut || names.length > MAX_FOUND ? ["[there are more: narrow the glob]"] : [];
      const lines = [...inside.map(({ name }) => shown(name)), ...note];
      return {
        content: [{ type: "text", text: lines.join("\n") || "No file matches." }],
        untrusted: marked ? fromFile(marked.name) : undefined,
      };
    } finally {
      await directory.handle.close();
    }
  },
});
