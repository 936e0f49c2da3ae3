/**
 * Checks the rules of `web/`, as part of `npm run check`: of `src` it imports the client for browsers and types only, it imports
 * only packages that the page ships, and every text that people read is in `web/src/texts.ts`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parseSync } from "vite";
import type { Breach } from "./check-rules.ts";

const CLIENT = "src/client-browser.ts";
const PACKAGES = ["preact", "@preact/signals", "dompurify", "marked", "uplot"];
const TEXTS = "web/src/texts.ts";
/** Attributes whose value is read by people. */
const READ = ["aria-label", "title", "placeholder", "alt", "label", "hint", "text", "summary", "action"];

type Parsed = ReturnType<typeof parseSync>;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** Checks sources of the page by path (`web/src/app.tsx`) and text. */
export function checkWeb(files: ReadonlyMap<string, string>): readonly Breach[] {
  return [...files].flatMap(([file, source]) => {
    const { module, program } = parseSync(file, source);
    const breach = (at: number, message: string): Breach => ({
      file,
      line: source.slice(0, at).split("\n").length,
      message,
    });
    return [
      ...importBreaches(file, source, module, breach),
      ...(file === TEXTS ? [] : textBreaches(program as unknown as Node, breach)),
    ];
  });
}

type Report = (at: number, message: string) => Breach;

function importBreaches(file: string, source: string, module: Parsed["module"], breach: Report): readonly Breach[] {
  const fixed = module.staticImports.map(({ start, moduleRequest, entries }) => ({
    start,
    specifier: moduleRequest.value,
    isType: entries.length > 0 && entries.every(({ isType }) => isType),
  }));
  const loaded = module.dynamicImports.map(({ start, moduleRequest }) => ({
    start,
    specifier: source.slice(moduleRequest.start + 1, moduleRequest.end - 1),
    isType: false,
  }));
  return [...fixed, ...loaded].flatMap(({ start, specifier, isType }) => {
    if (!specifier.startsWith(".")) {
      const isShipped = PACKAGES.some((name) => specifier === name || specifier.startsWith(`${name}/`));
      return isShipped ? [] : [breach(start, `imports ${specifier}, which the page does not ship`)];
    }
    const target = normalize(join(dirname(file), specifier));
    if (target.startsWith("web/") || target === CLIENT) return [];
    if (isType && target.startsWith("src/core/")) return [];
    return [breach(start, `imports ${target}; the page may import ${CLIENT}, and types of src/core`)];
  });
}

const hasWords = (value: unknown): boolean => typeof value === "string" && /\p{L}{2}/u.test(value);

function textBreaches(node: unknown, breach: Report): readonly Breach[] {
  if (Array.isArray(node)) return node.flatMap((one) => textBreaches(one, breach));
  if (node === null || typeof node !== "object") return [];
  const { type, start, value, name } = node as Node;
  const told = breach(start, `says ${JSON.stringify(value)?.trim().slice(0, 60)}; texts belong in ${TEXTS}`);
  if (type === "JSXText") return hasWords(value) ? [told] : [];
  if (type === "JSXAttribute") {
    const attribute = String((name as Node | undefined)?.name);
    const given = (value as Node | null)?.value;
    if (READ.includes(attribute) && hasWords(given))
      return [breach(start, `${attribute} is a text; it belongs in ${TEXTS}`)];
  }
  return Object.values(node).flatMap((child) => (typeof child === "object" ? textBreaches(child, breach) : []));
}

export function readWeb(root: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, "web/src"), { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => /\.tsx?$/.test(name) && !/\.test(?:-kit)?\.tsx?$/.test(name)).sort();
  return new Map(sources.map((name) => [`web/src/${name}`, readFileSync(join(root, "web/src", name), "utf8")]));
}
