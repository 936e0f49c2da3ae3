/** Checks that the map in AGENTS.md has a row for each layer of the table of layers, with its folders in order, and no other rows. */

export interface MapProblem {
  readonly line: number;
  readonly message: string;
}

/** `text`: the page. `layers`: folders by layer, as in the table of layers; the root is not part of the map. */
export function mapProblems(text: string, layers: Readonly<Record<string, readonly string[]>>): readonly MapProblem[] {
  const rows = text.split("\n").flatMap((row, at) => {
    const [, name = "", folders = ""] = row.split("|").map((cell) => cell.trim());
    const layer = /^`src\/([\w/-]+)`$/.exec(name)?.[1];
    return layer === undefined ? [] : [{ line: at + 1, layer, folders }];
  });
  const known = Object.keys(layers).filter((layer) => layer !== "");
  return [
    ...known
      .filter((layer) => rows.every((row) => row.layer !== layer))
      .map((layer) => ({ line: 1, message: `the map has no row for src/${layer}` })),
    ...rows.flatMap(({ line, layer, folders }) => {
      const expected = layers[layer];
      if (expected === undefined) {
        return [{ line, message: `the map shows src/${layer}, which is not in the table of layers` }];
      }
      const shown = [...folders.matchAll(/`([^`]+)`/g)].map(([, folder]) => folder);
      return shown.join(" ") === expected.join(" ")
        ? []
        : [{ line, message: `the folders of src/${layer} are, in this order: ${expected.join(", ")}` }];
    }),
  ];
}
