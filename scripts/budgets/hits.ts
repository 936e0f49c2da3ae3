/** Something that the project wants less of, where it is, and how many there are in each folder. */

export const HIT_KINDS = ["words", "casts", "any", "expect-error", "worlds", "exports"] as const;
export type HitKind = (typeof HIT_KINDS)[number];

export interface Hit {
  readonly kind: HitKind;
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Counts by folder and kind, as `src/engine/agents casts`. */
export type Counts = ReadonlyMap<string, number>;

/** The folder that a file is counted in: three levels deep in `src`, two elsewhere. Files in the root are counted as `.`. */
export function budgetFolder(file: string): string {
  const folders = file.split("/").slice(0, -1);
  return folders.slice(0, folders[0] === "src" ? 3 : 2).join("/") || ".";
}

export function countByFolder(hits: readonly Hit[]): Counts {
  const counts = new Map<string, number>();
  for (const { file, kind } of hits) {
    const key = `${budgetFolder(file)} ${kind}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The files that a path means: those counted in this folder, otherwise the file or all files below the path. */
export function filesOf(path: string, files: readonly string[]): readonly string[] {
  const counted = files.filter((file) => budgetFolder(file) === path);
  return counted.length > 0 ? counted : files.filter((file) => inPaths(file, [path]));
}

/** Whether a file is one of these paths or below one. No path means every file; `.` means the files in the root. */
export const inPaths = (file: string, paths: readonly string[]): boolean =>
  paths.length === 0 ||
  paths
    .map((path) => path.replace(/^\.\/|\/$/g, ""))
    .some((path) => file === path || file.startsWith(`${path}/`) || (path === "." && !file.includes("/")));
