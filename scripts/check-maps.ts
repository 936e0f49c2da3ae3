/**
 * Checks that AGENTS.md and docs/architecture.md match the source tree: every layer and folder of the table of layers
 * has its row, and no row names a folder that does not exist.
 */

export interface MapProblem {
  readonly page: string;
  readonly line: number;
  readonly message: string;
}

/** Pages with a map, and how it is written: a row per layer that lists its folders in order, or a row per folder. */
export const MAPS: Readonly<Record<string, "layers" | "folders">> = {
  "AGENTS.md": "layers",
  "docs/architecture.md": "folders",
};

/** `text`: the page. `layers`: folders by layer, as in the table of layers; the root is not part of a map. */
export function mapProblems(
  page: string,
  text: string,
  layers: Readonly<Record<string, readonly string[]>>,
): readonly MapProblem[] {
  const rows = text
    .split("\n")
    .map((row, at) => ({ line: at + 1, cells: row.split("|").map((cell) => cell.trim()) }))
    .flatMap(({ line, cells }) => {
      const folder = /^`(src\/[\w/-]+)`$/.exec(cells[1] ?? "")?.[1];
      return folder === undefined ? [] : [{ line, folder, cells }];
    });
  const known = Object.entries(layers).filter(([layer]) => layer !== "");
  const folders =
    MAPS[page] === "layers"
      ? known.map(([layer]) => `src/${layer}`)
      : known.flatMap(([layer, subfolders]) =>
          subfolders.length === 0 ? [`src/${layer}`] : subfolders.map((subfolder) => `src/${layer}/${subfolder}`),
        );
  return [
    ...folders
      .filter((folder) => rows.every((row) => row.folder !== folder))
      .map((folder) => ({ page, line: 1, message: `the map has no row for ${folder}` })),
    ...rows
      .filter(({ folder }) => !folders.includes(folder))
      .map(({ line, folder }) => ({
        page,
        line,
        message: `the map shows ${folder}, which is not in the table of layers`,
      })),
    ...(MAPS[page] === "layers" ? rows : []).flatMap(({ line, folder, cells }) => {
      const subfolders = layers[folder.slice("src/".length)] ?? [];
      const shown = [...(cells[2] ?? "").matchAll(/`([^`]+)`/g)].map(([, subfolder]) => subfolder);
      return shown.join(" ") === subfolders.join(" ")
        ? []
        : [{ page, line, message: `the folders of ${folder} are, in this order: ${subfolders.join(", ")}` }];
    }),
  ];
}
