/**
 * `grep`: lines of files that match a pattern. The first pass finds files by name; the second reads only files that were opened
 * and checked, through their open descriptors, so a link that is made in between shows nothing.
 */
import { join, relative } from "node:path";
import { z } from "zod";
import type { Tool } from "../../../core/ports/tool.ts";
import type { Places } from "./allowed-path.ts";
import { fromFile } from "./file-marks.ts";
import { effectsOnFiles, type FileToolDeps } from "./file-tool-deps.ts";
import { type OpenedFile, openDirectory, openFile } from "./open-inside.ts";
import { runRipgrep } from "./run-ripgrep.ts";

const MAX_FILES = 200;
const MAX_PATTERN = 2_000;
const MAX_OUTPUT = 20_000;
const COMMON = ["--max-filesize=8M", "--max-columns=300", "--max-columns-preview"];

const input = z.strictObject({
  pattern: z.string().min(1).max(MAX_PATTERN).describe("A regular expression"),
  path: z.string().optional().describe("Directory, relative to the workspace"),
  glob: z.string().max(500).optional().describe('Only these files, such as "*.ts"'),
  ignoreCase: z.boolean().optional(),
});
type GrepInput = z.infer<typeof input>;

export const grepTool = (deps: FileToolDeps): Tool<GrepInput> => ({
  name: "grep",
  description: "Searches the files of the workspace for a pattern. Shows file, line number and line.",
  input,
  rights: ["read"],
  replay: "safe",
  parallel: true,
  maxOutput: MAX_OUTPUT + 500,
  effects: effectsOnFiles(deps, "grep", ["read"], ({ path = "." }) => [{ access: "read", path }]),
  async execute(given, { agent, signal }) {
    const places = await deps.placesOf(agent);
    const { names, isCut } = await matchingFiles(deps, places, given, signal);
    const opened = await openAll(deps, places, names.slice(0, MAX_FILES));
    try {
      if (opened.length === 0) return { content: [{ type: "text", text: "No match." }] };
      const found = await matchingLines(deps, opened, given, signal);
      const more = isCut || names.length > MAX_FILES || found.isCut;
      const note = more ? "\n[there is more: narrow the pattern, the path or the glob]" : "";
      const marked = opened.find(({ file }) => deps.marks.knows(file.path));
      return {
        content: [{ type: "text", text: `${found.text.trimEnd()}${note}` }],
        untrusted: marked ? fromFile(marked.name) : undefined,
      };
    } finally {
      await Promise.all(opened.map(({ file }) => file.handle.close()));
    }
  },
});

const patternOf = ({ pattern, ignoreCase = false }: GrepInput): readonly string[] => [
  ...COMMON,
  ignoreCase ? "--ignore-case" : "--case-sensitive",
  `--regexp=${pattern}`,
];

async function matchingFiles(deps: FileToolDeps, places: Places, given: GrepInput, signal: AbortSignal) {
  const { path = ".", glob } = given;
  const directory = await openDirectory(deps.disk, places, path);
  try {
    const only = glob === undefined ? [] : [`--glob=${glob}`];
    const args = ["--files-with-matches", "--null", ...only, ...patternOf(given), "--", "."];
    // The working directory is the open one, whatever its path leads to now.
    const { text, isCut } = await runRipgrep({ args, cwd: cwdOf(deps, directory), signal, maxBytes: 100_000 });
    const names = text.split("\0").slice(0, -1);
    return { names: names.map((name) => join(path, name)), isCut };
  } finally {
    await directory.handle.close();
  }
}

/** Another process sees the open directory below the id of this one. */
export const cwdOf = ({ disk }: FileToolDeps, { handle, path }: Awaited<ReturnType<typeof openDirectory>>): string =>
  disk.descriptors === undefined ? path : `/proc/${process.pid}/fd/${handle.fd}`;

interface Named {
  readonly name: string;
  readonly file: OpenedFile;
}

/** Files that may not be read any more are left out. */
async function openAll({ disk }: FileToolDeps, places: Places, names: readonly string[]): Promise<readonly Named[]> {
  const opened = await Promise.all(
    names.map(async (name) => {
      const file = await openFile(disk, places, name).catch(() => undefined);
      return file ? { name, file } : undefined;
    }),
  );
  return opened.filter((one) => one !== undefined);
}

async function matchingLines(deps: FileToolDeps, opened: readonly Named[], given: GrepInput, signal: AbortSignal) {
  const paths = opened.map(({ name, file }) => [pathOf(deps, file), name] as const);
  const args = ["--line-number", "--with-filename", "--no-heading", ...patternOf(given), "--"];
  const all = [...args, ...paths.map(([path]) => path)];
  const { text, isCut } = await runRipgrep({ args: all, cwd: "/", signal, maxBytes: MAX_OUTPUT });
  const names = new Map(paths);
  const lines = text.split("\n").map((line) => {
    const at = line.indexOf(":");
    const name = at === -1 ? undefined : names.get(line.slice(0, at));
    // A file name must not look like two lines.
    return name === undefined ? line : `${shown(name)}${line.slice(at)}`;
  });
  return { text: lines.join("\n"), isCut };
}

const pathOf = ({ disk }: FileToolDeps, { handle, path }: OpenedFile): string =>
  disk.descriptors === undefined ? path : `/proc/${process.pid}/fd/${handle.fd}`;

export const shown = (name: string): string => relative(".", name).replace(/\p{Cc}/gu, "?");
