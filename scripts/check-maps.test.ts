import { describe, expect, it } from "vitest";
import { mapProblems } from "./check-maps.ts";

const layers = { core: ["agent", "message"], config: [], "": [] };
const agents = ["| layer | folders |", "|---|---|", "| `src/core` | `agent`, `message` |", "| `src/config` | – |"];
const architecture = ["| `src/core/agent` | a |", "| `src/core/message` | b |", "| `src/config` | c |"];
const problems = (page: string, rows: readonly string[]): readonly string[] =>
  mapProblems(page, rows.join("\n"), layers).map(({ line, message }) => `${line}: ${message}`);

describe("mapProblems", () => {
  it("finds no problem if both maps are complete", () => {
    expect(problems("AGENTS.md", agents)).toEqual([]);
    expect(problems("docs/architecture.md", architecture)).toEqual([]);
  });

  it("finds a layer or folder that is missing", () => {
    expect(problems("AGENTS.md", agents.slice(0, 3))).toEqual(["1: the map has no row for src/config"]);
    expect(problems("docs/architecture.md", architecture.slice(1))).toEqual([
      "1: the map has no row for src/core/agent",
    ]);
  });

  it("finds folders that are missing, too many or in another order", () => {
    const message = "3: the folders of src/core are, in this order: agent, message";
    for (const cell of ["`agent`", "`message`, `agent`", "`agent`, `message`, `run`"]) {
      expect(problems("AGENTS.md", agents.with(2, `| \`src/core\` | ${cell} |`))).toEqual([message]);
    }
  });

  it("finds rows of folders that do not exist", () => {
    expect(problems("docs/architecture.md", [...architecture, "| `src/world` | d |"])).toEqual([
      "4: the map shows src/world, which is not in the table of layers",
    ]);
  });
});
