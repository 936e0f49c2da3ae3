/**
 * Lists every identifier in the code blocks of the ancestors' documentation, every name in code font and every label of a diagram, with
 * the page it is on: `node scripts/ancestor-names.ts DIRECTORY`. The documentation is not part of this repository; the table made
 * from the list is (docs/internals/ancestors.json).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Languages whose blocks are programs or data. Transcripts of a shell have no identifiers of an interface. */
const LANGUAGES: readonly string[] = ["ts", "typescript", "json", "json5", "js", "yaml"];
const WORDS = new Set(
  "abstract any as async await boolean break case catch class const continue default delete do else enum export extends false finally for from function if implements import in infer instanceof interface is keyof let never new null number object of private public readonly return satisfies static string super switch this throw true try type typeof undefined unique unknown var void while yield Array Date Error JSON Map Math Number Object Partial Pick Omit Promise Record Required Set String Boolean Infinity NaN console process".split(
    " ",
  ),
);

interface Found {
  readonly name: string;
  readonly kind: "type" | "function" | "constant" | "field" | "other" | "code" | "label";
  readonly page: string;
}

export function identifiersIn(text: string, page: string): readonly Found[] {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].filter(([, language = ""]) =>
    LANGUAGES.includes(language),
  );
  return [
    ...blocks.flatMap(([, , code = ""]) => identifiersOf(code, page)),
    ...codeFont(text).flatMap((span) =>
      /\s/.test(span) ? identifiersOf(span, page) : [{ name: called(span), kind: "code", page } as const],
    ),
    ...diagramLabels(text).map((name) => ({ name: called(name), kind: "label", page }) as const),
  ];
}

/** Spans of code in prose. */
const codeFont = (text: string): readonly string[] =>
  [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);

/** The texts in the boxes and on the arrows of diagrams. */
const diagramLabels = (text: string): readonly string[] =>
  [...text.matchAll(/^```mermaid\n([\s\S]*?)^```/gm)].flatMap(([, diagram = ""]) =>
    [...diagram.matchAll(/participant (.+)$|\[([^\]\n]+)\]|\|([^|\n]+)\||>>\w+: (.+)$/gm)].map((match) =>
      (match.slice(1).find((part) => part !== undefined) ?? "").trim(),
    ),
  );

/** A call by the name of its function. */
const called = (name: string): string => /^([\w.]+)\(.*\)$/.exec(name)?.[1] ?? name;

function identifiersOf(code: string, page: string): readonly Found[] {
  const bare = code
    .replace(/\/\*[\s\S]*?\*\//g, " ")
    .replace(/(^|[^:])\/\/.*$/gm, "$1 ")
    .replace(/"([A-Za-z_]\w*)"(?=\s*:)/g, "$1")
    .replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, '""');
  return [...bare.matchAll(/[A-Za-z_$][\w$]*/g)].flatMap(({ 0: name, index }) =>
    WORDS.has(name) ? [] : [{ name, page, kind: kindOf(name, bare.slice(0, index), bare.slice(index + name.length)) }],
  );
}

function kindOf(name: string, before: string, after: string): Found["kind"] {
  if (/\b(?:type|interface|class|enum)\s+$/.test(before)) return "type";
  if (/\bfunction\s+$/.test(before) || /^\s*\(/.test(after)) return "function";
  if (/\bconst\s+$/.test(before) || /^[A-Z][A-Z0-9_]+$/.test(name)) return "constant";
  if (/^\s*\??\s*:/.test(after)) return "field";
  return /^[A-Z]/.test(name) ? "type" : "other";
}

const ORDER: readonly Found["kind"][] = ["type", "function", "constant", "field", "other", "code", "label"];

if (import.meta.main) {
  const directory = process.argv[2];
  if (directory === undefined) {
    console.error("Name the directory: node scripts/ancestor-names.ts DIRECTORY");
    process.exit(2);
  }
  const found = new Map<string, { kind: Found["kind"]; pages: Set<string> }>();
  for (const file of readdirSync(directory).sort()) {
    const [page = file] = file.split("_");
    for (const { name, kind } of identifiersIn(readFileSync(join(directory, file), "utf8"), page)) {
      const known = found.get(name) ?? { kind, pages: new Set() };
      if (ORDER.indexOf(kind) < ORDER.indexOf(known.kind)) known.kind = kind;
      known.pages.add(page);
      found.set(name, known);
    }
  }
  for (const [name, { kind, pages }] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${name}\t${kind}\t${[...pages].join(",")}`);
  }
}
