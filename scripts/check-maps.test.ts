import { expect, it } from "vitest";
import { mapProblems } from "./check-maps.ts";

const layers = { core: ["agent", "message"], config: [], "": [] };
const map = ["| layer | folders |", "|---|---|", "| `src/core` | `agent`, `message` |", "| `src/config` | – |"];
const order = "3: the folders of src/core are, in this order: agent, message";

it.each<[string, readonly string[], readonly string[]]>([
  ["accepts a complete map", map, []],
  ["finds a layer without a row", map.slice(0, 3), ["1: the map has no row for src/config"]],
  ["finds a missing folder", map.with(2, "| `src/core` | `agent` |"), [order]],
  ["finds folders in another order", map.with(2, "| `src/core` | `message`, `agent` |"), [order]],
  ["finds a folder too many", map.with(2, "| `src/core` | `agent`, `message`, `run` |"), [order]],
  [
    "finds a row of an unknown layer",
    [...map, "| `src/world` | `d` |"],
    ["5: the map shows src/world, which is not in the table of layers"],
  ],
])("%s", (_, rows, problems) => {
  expect(mapProblems(rows.join("\n"), layers).map(({ line, message }) => `${line}: ${message}`)).toEqual(problems);
});
