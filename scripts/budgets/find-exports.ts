/**
 * Finds exports of `src` that no product file imports: those that nothing imports need no `export`, and those that only tests import are
 * tested from inside. Names are compared with the imports that resolve to their file, static and dynamic ones.
 */
import { dirname, join } from "node:path/posix";
import { CLIENT_PARTS } from "../api-pages.ts";
import { maskSource } from "../mask-source.ts";
import type { Hit } from "./hits.ts";

/** Exports that are read without an import. */
const READ_ELSEWHERE: Readonly<Record<string, string>> = {
  "src/app/cli/command-json.ts#CommandJson": "scripts/cli-schema.ts reads the types of this file",
  "src/app/cli/command-json.ts#CommandError": "scripts/cli-schema.ts reads the types of this file",
  "src/adapters/store/postgres/watchdog-note.ts#writeSharedNote":
    "the thread of the watchdog loads this file by its path",
  "src/app/gateway/mcp/mcp-routes.ts#mcpRoute": "the conformance suite of MCP needs a server with tools of its own",
  "src/app/cli/other-names.ts#OTHER_NAMES": "a test runs every command that this table suggests",
  "src/config/live-keys.ts#LIVE_KEYS": "a test compares this table with the schema",
  "src/adapters/tools/shown-tools.ts#SELDOM": "a test compares this table with the tools that exist",
  "src/adapters/tools/shown-tools.ts#NOT_CORE": "a test compares this table with the tools that exist",
};

const ENTRIES = /^src\/(?:index|client|client-browser|compat|testing|main|bin)\.ts$/;
const IS_TEST = /\.test(?:-kit)?\.tsx?$|^(?:test|bench)\//;
/** Its exports are for programs that use `rookery/testing`. */
const IS_KIT = /^src\/app\/testing\//;
const ALL = "*";

const STATIC =
  /\b(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,?\s*)?(?:\{([^}]*)\}|\*\s*(?:as\s+[\w$]+)?)?\s*from\s*["']([^"']+)["']/g;
const DYNAMIC = /import\(\s*["']([^"']+)["']\s*\)/g;
const BY_PATH = /new URL\(\s*["']([^"']+\.ts)["']/g;
const EXPORT =
  /^export\s+(?:declare\s+|abstract\s+|async\s+)*(?:function\*?|const|let|class|interface|type|enum)\s+([\w$]+)/gm;

/** `test/fuzz` finds exported functions that read a text, and tries each of them. */
const READS_TEXT =
  /^export\s+(?:async\s+)?(?:function\*?\s+[\w$]+(?:<[^(]*>)?|const\s+[\w$]+\s*=\s*(?:async\s+)?)\(\s*\w+\??:\s*string\b/;

/** The hits by file. */
export function findExports(tree: ReadonlyMap<string, string>): ReadonlyMap<string, readonly Hit[]> {
  const sources = [...tree].filter(([file]) => /\.tsx?$/.test(file));
  const code = new Map(sources.map(([file, source]) => [file, maskSource(source).withoutComments]));
  const readers = readersOf(code);
  const hits = [...code].flatMap(([file, text]) =>
    file.startsWith("src/") && !IS_TEST.test(file) && !IS_KIT.test(file) && !ENTRIES.test(file)
      ? [[file, exportHits(file, text, readers)] as const]
      : [],
  );
  return new Map(hits);
}

function exportHits(file: string, text: string, readers: ReadonlyMap<string, ReadonlySet<string>>): readonly Hit[] {
  const whole = readers.get(`${file}#${ALL}`) ?? [];
  return [...text.matchAll(EXPORT)].flatMap(({ 1: name = "", index }) => {
    const own = `${file}#${name}`;
    const all = [...(readers.get(own) ?? []), ...whole].filter((reader) => reader !== file);
    if (Object.hasOwn(READ_ELSEWHERE, own) || all.some((reader) => !IS_TEST.test(reader))) return [];
    if (CLIENT_PARTS[file]?.includes(name)) return [];
    if (READS_TEXT.test(text.slice(index, index + 300))) return [];
    const why = all.length === 0 ? "nothing imports it" : "only tests import it";
    return [{ kind: "exports", file, line: text.slice(0, index).split("\n").length, text: `${name}: ${why}` }];
  });
}

/** The files that read an export, by `file#name`. */
function readersOf(code: ReadonlyMap<string, string>): ReadonlyMap<string, ReadonlySet<string>> {
  const readers = new Map<string, Set<string>>();
  for (const [file, text] of code) {
    const add = (target: string | undefined, names: readonly string[]): void => {
      if (target === undefined) return;
      for (const name of names) {
        const key = `${target}#${name}`;
        readers.set(key, (readers.get(key) ?? new Set()).add(file));
      }
    };
    const resolve = (specifier: string): string | undefined => resolved(code, file, specifier);
    for (const [, names, specifier = ""] of text.matchAll(STATIC)) {
      add(resolve(specifier), names === undefined ? [ALL] : namesIn(names));
    }
    for (const { 0: found, 1: specifier = "", index } of text.matchAll(DYNAMIC)) {
      add(resolve(specifier), namesAround(text, index, index + found.length));
    }
    for (const [, specifier = ""] of text.matchAll(BY_PATH)) add(resolve(specifier), []);
  }
  return readers;
}

const namesIn = (list: string): readonly string[] =>
  list.split(",").flatMap((one) => {
    const [name = ""] = one
      .trim()
      .replace(/^type\s+/, "")
      .split(/\s+as\s+|\s*:/);
    return name === "" ? [] : [name];
  });

/** Names that a dynamic import takes: `(await import(x)).name`, `{ name } = await import(x)`. Everything if it is not clear. */
function namesAround(text: string, start: number, end: number): readonly string[] {
  const [before, after] = [text.slice(Math.max(0, start - 300), start), text.slice(end, end + 200)];
  const member = /^\s*\)\s*\.\s*([\w$]+)/.exec(after)?.[1];
  if (member !== undefined) return [member];
  const taken = /\{([^{}]*)\}\s*=\s*await\s*$/.exec(before)?.[1] ?? /^\s*\.then\(\s*\(\{([^}]*)\}/.exec(after)?.[1];
  return taken === undefined ? [ALL] : namesIn(taken);
}

function resolved(code: ReadonlyMap<string, string>, from: string, specifier: string): string | undefined {
  if (specifier === "rookery") return "src/index.ts";
  if (specifier.startsWith("rookery/")) return `src/${specifier.slice("rookery/".length)}.ts`;
  if (!specifier.startsWith(".")) return undefined;
  const path = join(dirname(from), specifier);
  return [path, `${path}.ts`, path.replace(/\.js$/, ".ts")].find((one) => code.has(one));
}
