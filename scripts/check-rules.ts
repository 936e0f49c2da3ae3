/**
 * Checks the rules that no compiler checks, as part of `npm run check`: imports point downwards, only the entry points are barrels,
 * core and engine do not use the ambient world, every file opens with its purpose, errors are typed, no home is recreated,
 * no handle that could be awaited is unreferenced, comments state rules instead of numbers, and the map in AGENTS.md matches the source tree. Prints each breach
 * with file and line.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { mapProblems } from "./check-maps.ts";
import { checkWeb, readWeb } from "./check-web.ts";
import { LIST, patternProblems } from "./find-patterns.ts";
import { maskSource } from "./mask-source.ts";

/**
 * Which folder may import which. A layer may use the layers before it. A folder below a layer may
 * use the folders of its layer before it and the files directly in the layer. So imports cannot form a cycle.
 *
 * A message travels in a cycle, connector → inbox → run → outbox → connector; imports must not. Two contracts break the
 * cycle: a connector submits through `ConnectorHost` and the outbox sends through `Connector`, both defined in `core`.
 * The engine uses clock, store, models, tools and connectors only as ports; `app/node` passes the real ones in.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [
    "people",
    "delivery",
    "message",
    "agent",
    "rights",
    "history",
    "run",
    "schedule",
    "budget",
    "store",
    "search",
    "ports",
  ],
  /** The schema of the configuration and its file. */
  config: [],
  engine: [
    "commit",
    "files",
    "people",
    "inbox",
    "outbox",
    "approvals",
    "runtime",
    "budgets",
    "rights",
    "context",
    "runs",
    "subagents",
    "cluster",
    "commands",
    "agents",
    "triggers",
  ],
  adapters: ["system", "sandbox", "store", "search", "files", "models", "tools", "workspace", "connectors"],
  app: ["client", "node", "operations", "gateway", "library", "testing", "cli"],
  /** src/main.ts and src/index.ts. */
  "": [],
};

/** Layers that reach the outside only through ports. */
const NO_WORLD = ["core", "engine"];

/** Tests and their shared test kits. Neither is part of the built package. */
const TEST = /\.(?:test|test-kit)\.ts$/;

/** The entry points of the package. */
const BARRELS: readonly string[] = [
  "src/index.ts",
  "src/client.ts",
  "src/client-browser.ts",
  "src/compat.ts",
  "src/testing.ts",
];

export interface Breach {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Checks sources by path (`src/core/ports/ids.ts`) and text. In tests it checks only the direction of imports. */
export function checkRules(files: ReadonlyMap<string, string>): readonly Breach[] {
  return [...files].flatMap(([file, source]) => {
    if (!/^src\/.*\.ts$/.test(file)) return [];
    const { withoutComments, code } = maskSource(source);
    const isTest = TEST.test(file);
    return [
      ...lawBreaches(file, source),
      ...directionBreaches(file, withoutComments, isTest),
      ...(isTest ? mockBreaches(file, code) : []),
      ...(isTest ? [] : [...barrelBreaches(file, withoutComments), ...worldBreaches(file, withoutComments, code)]),
      ...(isTest
        ? []
        : [...openingBreaches(file, source), ...errorBreaches(file, code), ...patternBreaches(file, code)]),
      ...(isTest ? [] : [...directoryBreaches(file, code), ...holdBreaches(file, code)]),
    ];
  });
}

/** A number alone says nothing to a reader: a comment states the rule, with the number in brackets at most; a title never has one. */
function lawBreaches(file: string, source: string): readonly Breach[] {
  const { withoutComments } = maskSource(source);
  const comments = source
    .split("")
    .map((char, at) => (char === "\n" || withoutComments[at] === " " ? char : " "))
    .join("");
  const outside = comments.replace(/\([^()]*\)/g, (inside) => inside.replace(/[^\n]/g, " "));
  const titles = TEST.test(file)
    ? matches(/\b(?:it|test|describe)\b[^"'`\n]*["'`][^"'`\n]*\b[LM]\d{1,2}\b/g, withoutComments)
    : [];
  return [
    ...matches(/\b[LM]\d{1,2}\b/g, outside).map(({ at }) => ({
      file,
      line: lineOf(outside, at),
      message: "names a law by its number alone; state the rule, and put the number in brackets",
    })),
    ...titles.map(({ at }) => ({
      file,
      line: lineOf(withoutComments, at),
      message: "has a test title with the number of a law; state the rule",
    })),
  ];
}

/** The tests of one worker share their modules: a module that a test replaces is loaded already, or stays replaced for others. */
function mockBreaches(file: string, code: string): readonly Breach[] {
  const at = file.endsWith(".mocked.test.ts") ? -1 : code.search(/\bvi\.(?:do)?[mM]ock\(/);
  return at < 0 ? [] : [{ file, line: lineOf(code, at), message: "replaces a module; call it *.mocked.test.ts" }];
}

/** `src/engine/runs/recovery/x.ts` is in layer `engine` and subfolder `runs`. */
const placeOf = (file: string): { readonly layer: string; readonly subfolder: string } => {
  const [layer = "", subfolder = ""] = file.split("/").slice(1, -1);
  return { layer, subfolder: (LAYERS[layer] ?? []).length > 0 ? subfolder : "" };
};

const nameOf = ({ layer, subfolder }: ReturnType<typeof placeOf>): string =>
  ["src", layer, subfolder].filter(Boolean).join("/");

/** Whether a file in one place may not import a file in another. */
function mayNotImport(from: ReturnType<typeof placeOf>, to: ReturnType<typeof placeOf>): boolean {
  const layers = Object.keys(LAYERS);
  if (from.layer !== to.layer) return layers.indexOf(to.layer) > layers.indexOf(from.layer);
  const subfolders = LAYERS[from.layer] ?? [];
  return subfolders.indexOf(to.subfolder) > subfolders.indexOf(from.subfolder);
}

function directionBreaches(file: string, text: string, isTest: boolean): readonly Breach[] {
  const from = placeOf(file);
  const subfolders = LAYERS[from.layer];
  if (!subfolders || (from.subfolder !== "" && !subfolders.includes(from.subfolder))) {
    return [{ file, line: 1, message: `${nameOf(from)} is not in the table of layers in scripts/check-rules.ts` }];
  }
  return importsOf(text).flatMap(({ specifier, at }) => {
    const line = lineOf(text, at);
    if (!isTest && /^(?:vitest|fast-check)\b/.test(specifier)) {
      return [
        { file, line, message: `imports ${specifier}; code that tests share belongs in *.test-kit.ts or test/kit` },
      ];
    }
    if (!specifier.startsWith(".")) return [];
    const target = normalize(join(dirname(file), specifier));
    if (!isTest && TEST.test(target)) return [{ file, line, message: `imports ${target}, a part of the tests` }];
    // Tests may import files outside of src (the simulation); sources may not.
    if (!target.startsWith("src/")) return isTest ? [] : [{ file, line, message: `imports ${target}, outside of src` }];
    const to = placeOf(target);
    if (!mayNotImport(from, to)) return [];
    // A test may use the real parts that its folder uses only as ports.
    if (isTest && to.layer !== "") return [];
    return [{ file, line, message: `${nameOf(from)} may not import ${to.layer === "" ? target : nameOf(to)}` }];
  });
}

function barrelBreaches(file: string, text: string): readonly Breach[] {
  if (BARRELS.includes(file)) return [];
  if (file.endsWith("/index.ts"))
    return [{ file, line: 1, message: "is a barrel; only the entry points of the package are" }];
  return matches(/\bexport\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\b/g, text).map(({ at }) => ({
    file,
    line: lineOf(text, at),
    message: "re-exports from another file; only the entry points of the package may do that",
  }));
}

const WORLD_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bDate\s*\.\s*now\b/g, "Date.now"],
  [/\bnew\s+Date\s*(?:\(\s*\)|(?=[;,)\]]))/g, "new Date()"],
  [/(?<![.\w$])(?<!new\s)Date\s*\(/g, "Date()"],
  [/\bperformance\s*\.\s*now\b/g, "performance.now"],
  [/\bMath\s*\.\s*random\b/g, "Math.random"],
  [/(?<![.\w$]|globalThis\.)\b(?:setTimeout|setInterval|setImmediate)\b/g, "a timer"],
  [/\bglobalThis\s*\./g, "globalThis"],
  [/(?<![.\w$])fetch\s*\(/g, "fetch"],
  [/(?<![.\w$])process\s*\./g, "process"],
  [/(?<![.\w$])crypto\s*\./g, "crypto"],
  [/\b(?:randomUUID|randomBytes|randomInt|getRandomValues)\b/g, "randomness"],
];

const WORLD_MODULES =
  /^(?:node:)?(?:fs|fs\/promises|child_process|process|os|net|http|https|http2|dgram|dns|tls|timers|timers\/promises|worker_threads|cluster|sqlite)$/;

function worldBreaches(file: string, text: string, code: string): readonly Breach[] {
  if (!NO_WORLD.includes(placeOf(file).layer)) return [];
  const words = WORLD_WORDS.flatMap(([pattern, name]) => matches(pattern, code).map(({ at }) => ({ at, name })));
  const modules = importsOf(text)
    .filter(({ specifier }) => WORLD_MODULES.test(specifier))
    .map(({ specifier, at }) => ({ at, name: specifier }));
  return [...words, ...modules].map(({ at, name }) => ({
    file,
    line: lineOf(text, at),
    message: `uses ${name}; core and engine reach the outside only through ports`,
  }));
}

function openingBreaches(file: string, source: string): readonly Breach[] {
  const opening = source.replace(/^#!.*\n/, "").trimStart();
  if (/^\/\*[*\s]*[^\s*/]|^\/\/\s*(?!biome-ignore|@ts-)\S/.test(opening)) return [];
  return [{ file, line: 1, message: "does not open with a comment that says what it is for" }];
}

function errorBreaches(file: string, code: string): readonly Breach[] {
  return matches(/\b(?:throw\s+(?:new\s+)?|reject\s*\(\s*(?:new\s+)?)Error\s*\(/g, code).map(({ at }) => ({
    file,
    line: lineOf(code, at),
    message: "throws a bare Error; use a class of src/core/errors.ts, or add one",
  }));
}

function patternBreaches(file: string, code: string): readonly Breach[] {
  return matches(/(?<![.\w$])RegExp\s*\(/g, code).map(({ at }) => ({
    file,
    line: lineOf(code, at),
    message: "computes a regular expression; write it as a literal, so that it can be proven linear",
  }));
}

/** Code that makes a home, and commands that a person starts by hand. */
const MAKES_HOMES =
  /^src\/(?:app\/(?:cli|operations)\/|config\/create-home\.ts$|adapters\/(?:store\/sqlite\/home-lock|system\/compile-cache)\.ts$)/;

/** A running process must not recreate a home that was moved away. */
function directoryBreaches(file: string, code: string): readonly Breach[] {
  if (MAKES_HOMES.test(file)) return [];
  return matches(/\bmkdir(?:Sync)?\s*\([^;]{0,200}?\brecursive\s*:\s*true/g, code).map(({ at }) => ({
    file,
    line: lineOf(code, at),
    message: "makes directories up to the root; use makeDirectory of src/adapters/system/make-directory.ts",
  }));
}

/** Files that may leave a handle unreferenced: the owners of threads and timers, and processes that outlive this one. */
const UNREFERENCED =
  /^src\/(?:adapters\/system\/(?:thread|background-timers)|adapters\/tools\/exec\/processes|app\/cli\/commands\/open)\.ts$/;

/** A promise that only an unreferenced handle resolves ends the process with code 13 (M49). */
function holdBreaches(file: string, code: string): readonly Breach[] {
  if (UNREFERENCED.test(file)) return [];
  const found = (pattern: RegExp, message: string): readonly Breach[] =>
    matches(pattern, code).map(({ at }) => ({ file, line: lineOf(code, at), message }));
  return [
    ...found(/\bnew\s+Worker\s*\(/g, "starts a thread; use src/adapters/system/thread.ts or run-in-thread.ts"),
    ...found(
      /\bunref\s*\??\.?\s*\(|\bref\s*:\s*false\b/g,
      "leaves a handle unreferenced; use src/adapters/system/background-timers.ts or thread.ts",
    ),
  ];
}

function importsOf(text: string): readonly { readonly specifier: string; readonly at: number }[] {
  return matches(/\b(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g, text).map(({ at, group }) => ({
    at,
    specifier: group,
  }));
}

const matches = (pattern: RegExp, text: string): readonly { readonly at: number; readonly group: string }[] =>
  [...text.matchAll(pattern)].map((match) => ({ at: match.index, group: match[1] ?? "" }));

const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length;

export function readSources(root: string, directory = "src"): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, directory), { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => name.endsWith(".ts")).sort();
  return new Map(sources.map((name) => [`${directory}/${name}`, readFileSync(join(root, directory, name), "utf8")]));
}

/** Layers and subfolders of the table that do not exist, and a map that does not match the table. */
function treeBreaches(root: string, sources: ReadonlyMap<string, string>): readonly Breach[] {
  const places = Object.entries(LAYERS).flatMap(([layer, subfolders]) =>
    subfolders.length === 0 ? [`src/${layer}`] : subfolders.map((subfolder) => `src/${layer}/${subfolder}`),
  );
  const files = [...sources.keys()];
  return [
    ...places
      .filter((place) => !files.some((file) => file.startsWith(place)))
      .map((place) => ({
        file: "scripts/check-rules.ts",
        line: 1,
        message: `the table of layers has ${place}, which is empty`,
      })),
    ...mapProblems(readFileSync(join(root, "AGENTS.md"), "utf8"), LAYERS).map((problem) => ({
      file: "AGENTS.md",
      ...problem,
    })),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const sources = readSources(root);
  const list = readFileSync(join(root, LIST), "utf8");
  const breaches = [
    ...checkRules(sources),
    ...treeBreaches(root, sources),
    ...patternProblems(sources, list),
    ...checkWeb(readWeb(root)),
    ...[...readSources(root, "test")].flatMap(([file, source]) => lawBreaches(file, source)),
  ];
  for (const { file, line, message } of breaches) console.error(`${file}:${line}: ${message}`);
  console.log(`rules: ${sources.size} files, ${breaches.length} breaches`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
}
