/**
 * The house rules that no compiler knows, as part of `npm run check`: imports point downwards, there is one barrel, the
 * core has no ambient world, every file says what it is for, errors are typed. Prints each breach with file and line.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { maskSource } from "./mask-source.ts";

/**
 * Who may import whom: a folder may use what is listed behind it, and itself. Folders stand in order, each above all it
 * may use, so the table cannot hold a circle (a test says so).
 *
 * The main road, connectors → inbox → runs → history → outbox → connectors, is a circle for messages and must not be
 * one for imports. It is opened in two places: what a connector hands in goes through `ConnectorHost` and what the
 * outbox sends goes through `Connector`, both contracts of `core`; and the folders of the law (inbox, history, outbox,
 * runs, agents, triggers) see world, store, models and tools only as ports. `node`, which puts a
 * process together, brings the real ones.
 */
const LAW = ["core", "config"] as const;
const ROAD = [...LAW, "inbox", "history", "outbox"] as const;
const HEART = [...ROAD, "runs", "agents", "triggers"] as const;
const ALL_BELOW_NODE = [...HEART, "world", "store", "models", "tools", "connectors"] as const;

export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  config: ["core"],
  /** The real clock, ids and the like: the ports of `core` over the operating system. */
  world: LAW,
  store: LAW,
  inbox: LAW,
  history: LAW,
  outbox: LAW,
  models: LAW,
  tools: LAW,
  runs: ROAD,
  agents: [...ROAD, "runs"],
  triggers: [...LAW, "inbox", "agents"],
  connectors: [...LAW, "inbox"],
  /** Puts one engine process together from a configuration. */
  node: ALL_BELOW_NODE,
  gateway: [...ALL_BELOW_NODE, "node"],
  cli: [...ALL_BELOW_NODE, "node", "gateway"],
  /** src/main.ts and src/index.ts. */
  "": [...ALL_BELOW_NODE, "node", "gateway", "cli"],
};

/** Folders that know the world only through ports. */
const NO_WORLD = ["core", "inbox", "runs", "history", "agents", "outbox", "triggers"];

/** Tests, and what several of them share: neither is part of the built package. */
const TEST = /\.(?:test|test-kit)\.ts$/;

const BARREL = "src/index.ts";

export interface Breach {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Judges sources by path (`src/core/ids.ts`) and text. Tests are judged for the direction of their imports only. */
export function checkHouse(files: ReadonlyMap<string, string>): readonly Breach[] {
  return [...files].flatMap(([file, source]) => {
    if (!/^src\/.*\.ts$/.test(file)) return [];
    const { withoutComments, code } = maskSource(source);
    const isTest = TEST.test(file);
    return [
      ...directionBreaches(file, withoutComments, isTest),
      ...(isTest ? [] : [...barrelBreaches(file, withoutComments), ...worldBreaches(file, withoutComments, code)]),
      ...(isTest ? [] : [...openingBreaches(file, source), ...errorBreaches(file, code)]),
    ];
  });
}

const folderOf = (file: string): string => file.split("/").slice(1, -1)[0] ?? "";

function directionBreaches(file: string, text: string, isTest: boolean): readonly Breach[] {
  const folder = folderOf(file);
  const allowed = MAY_IMPORT[folder];
  if (!allowed) return [{ file, line: 1, message: `src/${folder} is not in the table of who may import whom` }];
  return importsOf(text).flatMap(({ specifier, at }) => {
    const line = lineOf(text, at);
    if (!isTest && /^(?:vitest|fast-check)\b/.test(specifier)) {
      return [{ file, line, message: `imports ${specifier}; what tests share is called *.test-kit.ts` }];
    }
    if (!specifier.startsWith(".")) return [];
    const target = normalize(join(dirname(file), specifier));
    if (!isTest && TEST.test(target)) return [{ file, line, message: `imports ${target}, a part of the tests` }];
    // Tests may use what stands outside of src (the simulated world), sources may not.
    if (!target.startsWith("src/")) return isTest ? [] : [{ file, line, message: `imports ${target}, outside of src` }];
    const to = folderOf(target);
    if (to === folder || allowed.includes(to)) return [];
    // A test may put real parts together that its folder knows as ports only.
    if (isTest && to !== "") return [];
    return [{ file, line, message: `src/${folder} may not import src/${to || target.slice(4)}` }];
  });
}

function barrelBreaches(file: string, text: string): readonly Breach[] {
  if (file === BARREL) return [];
  if (file.endsWith("/index.ts")) return [{ file, line: 1, message: `is a barrel; ${BARREL} is the only one` }];
  return matches(/\bexport\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\b/g, text).map(({ at }) => ({
    file,
    line: lineOf(text, at),
    message: `passes on another file's exports; only ${BARREL} does`,
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
  if (!NO_WORLD.includes(folderOf(file))) return [];
  const words = WORLD_WORDS.flatMap(([pattern, name]) => matches(pattern, code).map(({ at }) => ({ at, name })));
  const modules = importsOf(text)
    .filter(({ specifier }) => WORLD_MODULES.test(specifier))
    .map(({ specifier, at }) => ({ at, name: specifier }));
  return [...words, ...modules].map(({ at, name }) => ({
    file,
    line: lineOf(text, at),
    message: `uses ${name}; the core knows the world through ports only`,
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
    message: "throws a bare Error; take or make a class in src/core/errors.ts",
  }));
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

function readSources(root: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => name.endsWith(".ts")).sort();
  return new Map(sources.map((name) => [`src/${name}`, readFileSync(join(root, "src", name), "utf8")]));
}

if (import.meta.main) {
  const sources = readSources(join(import.meta.dirname, ".."));
  const breaches = checkHouse(sources);
  for (const { file, line, message } of breaches) console.error(`${file}:${line}: ${message}`);
  console.log(`house: ${sources.size} files, ${breaches.length} breaches`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
}
