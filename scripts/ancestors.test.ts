import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as client from "../src/client.ts";
import * as compat from "../src/compat.ts";
import * as root from "../src/index.ts";
import { identifiersIn } from "./ancestor-names.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

interface Row {
  readonly name: string;
  readonly kind: "type" | "function" | "constant" | "field" | "tool" | "file" | "value" | "label";
  readonly of: readonly string[];
  readonly exported?: string;
  readonly same?: true;
  readonly instead?: string;
  readonly why?: string;
}
const rows = JSON.parse(read("docs/internals/ancestors.json")) as readonly Row[];

const ENTRIES: Readonly<Record<string, { readonly file: string; readonly values: object }>> = {
  rookery: { file: "src/index.ts", values: root },
  "rookery/client": { file: "src/client.ts", values: client },
  "rookery/compat": { file: "src/compat.ts", values: compat },
};

/** The names that an entry point exports, types too. */
const exportedBy = (file: string): ReadonlySet<string> =>
  new Set(
    [...read(file).matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = ""]) =>
      list.split(",").map((name) => name.trim().replace(/^type /, "")),
    ),
  );

/** The code without comments and tests. */
const SOURCE = globSync("src/*/**/*.ts", { cwd: ROOT })
  .filter((file) => !/\.test(?:-kit)?\.ts$/.test(file))
  .map((file) => read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, " "))
  .join("\n");

/** As a member of an object, which ends with a comma; a member of a type ends with a semicolon. */
const isWritten = (name: string): boolean =>
  new RegExp(`[{,(]\\s*${name}(?:\\s*[,}]|:\\s)|\\b${name}: [^;\\n]*[,(\\[{]\\n|\\bget ${name}\\(|\\.${name} = `).test(
    SOURCE,
  );

/** As a property, or taken out of an object. */
const isRead = (name: string): boolean =>
  new RegExp(`\\.${name}\\b(?! = )|\\{[^{}]*\\b${name}\\b[^{}]*\\}(?: = |: |\\) =>)`).test(SOURCE);

describe("the table of the ancestors' names", () => {
  it("lists each name once, with what became of it", () => {
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    expect(rows.length).toBeGreaterThan(560);
    for (const { name, exported, same, why, of } of rows) {
      expect(
        [exported, same, why].filter((one) => one !== undefined),
        name,
      ).toHaveLength(1);
      expect(of.length, name).toBeGreaterThan(0);
    }
  });

  it("names exports that exist", () => {
    for (const { name, exported, kind } of rows) {
      if (exported === undefined) continue;
      const { file = "", values = {} } = ENTRIES[exported] ?? {};
      expect(exportedBy(file).has(name), `${name} of ${exported}`).toBe(true);
      if (kind === "function") expect(typeof (values as Record<string, unknown>)[name], name).toBe("function");
    }
  });

  it("calls a name the same only if the code has it", () => {
    const missing = rows.filter(({ name, same }) => same && !SOURCE.includes(name.replaceAll('"', "")));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });

  it("calls a field the same only if the code writes and reads it", () => {
    const fields = rows.filter(({ kind, same }) => same && kind === "field");
    expect(fields.filter(({ name }) => !isWritten(name)).map(({ name }) => name)).toEqual([]);
    expect(fields.filter(({ name }) => !isRead(name)).map(({ name }) => name)).toEqual([]);
  });

  it("calls a type, function, constant or tool the same only if the code declares and uses it", () => {
    const declared = rows.filter(({ kind, same }) => same && ["type", "function", "constant", "tool"].includes(kind));
    const unused = declared.filter(({ name, kind }) => {
      const times = SOURCE.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;
      return kind === "tool" ? !SOURCE.includes(`name: "${name}"`) : times < 2;
    });
    expect(unused.map(({ name }) => name)).toEqual([]);
  });

  it("names files that exist", () => {
    const files = rows.flatMap(({ instead = "" }) => instead.match(/src\/[\w/.-]+\.ts/g) ?? []);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("has the counts that the page shows", () => {
    const page = read("docs/internals/ancestors.md");
    const counts = [
      rows.length,
      rows.filter(({ exported }) => exported).length,
      rows.filter(({ same }) => same).length,
      rows.filter(({ why }) => why).length,
    ];
    expect(page).toContain(`| ${counts.join(" | ")} |`);
  });
});

describe("the entry points", () => {
  it("export at most 26 names from the root", () => {
    expect(exportedBy("src/index.ts").size).toBeLessThanOrEqual(26);
  });

  it("export the ancestors' pure functions under their own names", () => {
    const names = [
      "buildAgentPeerSessionKey",
      "resolveThreadParentSessionKey",
      "resolveQueueSettings",
      "parseQueueDirective",
    ];
    const more = ["stripHeartbeatToken", "isWithinActiveHours", "computeNextRunAtMs", "resolveSendPolicy", "isStale"];
    for (const name of [...names, ...more, "buildTriggerMessage", "buildStatsLine", "spawnSubagent"]) {
      expect(typeof (compat as Record<string, unknown>)[name], name).toBe("function");
    }
  });
});

describe("identifiersIn", () => {
  it("finds names in programs, data, code font and diagrams, and leaves out texts and comments", () => {
    const page = [
      "```ts\n// a comment\ntype One = { two: string };\nfunction three(four: Five) {}\n```",
      '```json5\n{ "six": "seven", eight: 9 }\n```',
      "```mermaid\nflowchart LR\n  A[Engine boot] -->|spawns| B\n  participant Nine\n  Nine->>Ten: eleven(x)\n```",
      "A word of `twelve.json` and `deliver: false`, as `thirteen()` has it.",
    ].join("\n\n");
    expect(identifiersIn(page, "x").map(({ name, kind }) => `${kind} ${name}`)).toEqual([
      "type One",
      "field two",
      "function three",
      "field four",
      "type Five",
      "field six",
      "field eight",
      "code twelve.json",
      "field deliver",
      "code thirteen",
      "label Engine boot",
      "label spawns",
      "label Nine",
      "label eleven",
    ]);
  });
});
