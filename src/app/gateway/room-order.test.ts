import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Each folder may import itself and the folders before it; files directly in the gateway may import all but the last. */
const ORDER = [
  "http",
  "auth",
  "doctor",
  "events",
  "messages",
  "routing",
  "page",
  "openai",
  "api",
  "mcp",
  "control",
  "",
  "in-process",
];
/** Its tools send requests through the gateway itself: it loads the router when the first one comes. */
const THROUGH_THE_ROUTER = "mcp/mcp-routes.ts";
const ROOT = fileURLToPath(new URL(".", import.meta.url));
const folderOf = (file: string): string => (file.includes("/") ? (file.split("/")[0] ?? "") : "");

it("the folders of the gateway import in one direction, and openai and api do not import each other", () => {
  const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !/\.test(-kit)?\.ts$/.test(file),
  );
  const wrong = files.flatMap((file) => {
    const from = folderOf(file);
    const source = readFileSync(join(ROOT, file), "utf8");
    const imports = file === THROUGH_THE_ROUTER ? /from ?"(\.[^"]+)"/g : /(?:from|import\() ?"(\.[^"]+)"/g;
    const targets = [...source.matchAll(imports)]
      .map(([, specifier = ""]) => normalize(join(dirname(file), specifier)))
      .filter((target) => !target.startsWith(".."));
    return targets
      .filter((target) => {
        const to = folderOf(target);
        return ORDER.indexOf(to) > ORDER.indexOf(from) || (from === "api" && to === "openai");
      })
      .map((target) => `${file} imports ${target}`);
  });
  expect(files.length).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});
