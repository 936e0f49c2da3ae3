import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import * as root from "./index.ts";

/** The names of an entry point: values and types. */
function namesOf(file: string): string[] {
  const source = readFileSync(fileURLToPath(new URL(`./${file}`, import.meta.url)), "utf8");
  return [...source.matchAll(/export (?:type )?\{([^}]*)\} from/g)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((name) => name.replace(/^\s*type /, "").trim())
      .filter((name) => name !== ""),
  );
}

it("the root exports few names, and a new one is a decision", () => {
  expect(namesOf("index.ts").length).toBeLessThanOrEqual(26);
  expect(Object.keys(root).sort()).toEqual([
    "HomeInUseError",
    "OutputInvalidError",
    "QueueFullError",
    "RookeryError",
    "RunFailedError",
    "createRookery",
    "defineConnector",
    "defineTool",
    "fileFromPath",
  ]);
});
