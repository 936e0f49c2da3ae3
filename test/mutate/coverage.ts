/**
 * Which test files run which piece of the source. A plugin of Vitest puts a mark into every block; each test file writes the
 * marks it met. So a mutant is tried only with tests that can see it, the quickest first.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asNode, type Node, nodesOf, parse, walk } from "./syntax.ts";

/** A piece of a file that runs as a whole: the body of a function, a branch, a case. */
export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** The sources that get marks. */
export const MARKED = /^src\/(?:core|engine|adapters|config|app)\/.*(?<!\.test|\.test-kit)\.ts$/;

const FUNCTION = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

/** The pieces of a file in a fixed order: the number of a mark is its index here. The first is the file itself. */
export function piecesOf(source: string): readonly (Piece & { readonly mark: number; readonly close?: number })[] {
  const pieces: (Piece & { mark: number; close?: number })[] = [{ start: 0, end: source.length, mark: source.length }];
  walk(parse(source), (node) => {
    if (node.type === "BlockStatement") pieces.push({ start: node.start, end: node.end, mark: node.start + 1 });
    if (node.type === "SwitchCase") addCase(pieces, node);
    const body = asNode(node.body);
    if (FUNCTION.test(node.type) && body && body.type !== "BlockStatement") {
      const begin = source[body.start - 1] === "(" ? body.start - 1 : body.start;
      const close = begin === body.start ? body.end : body.end + 1;
      pieces.push({ start: body.start, end: body.end, mark: begin, close });
    }
    return true;
  });
  return pieces;
}

function addCase(pieces: (Piece & { mark: number })[], node: Node): void {
  const first = nodesOf(node.consequent)[0];
  if (first) pieces.push({ start: first.start, end: node.end, mark: first.start });
}

/** The source with a mark in every piece. */
export function marked(file: string, source: string): string {
  const inserts = piecesOf(source).flatMap(({ mark, close }, index) => {
    const hit = `globalThis.rookeryMark?.(${JSON.stringify(file)}, ${index})`;
    if (close !== undefined)
      return [
        { at: mark, text: `(${hit}, ` },
        { at: close, text: ")" },
      ];
    return [{ at: mark, text: `;${hit};` }];
  });
  let text = source;
  for (const { at, text: insert } of inserts.toSorted((one, other) => other.at - one.at)) {
    text = text.slice(0, at) + insert + text.slice(at);
  }
  return text;
}

/** What one test file met: numbers of pieces by source file. */
export interface Met {
  readonly test: string;
  readonly milliseconds: number;
  readonly pieces: Readonly<Record<string, readonly number[]>>;
}

/** A test file and each process that it starts write a file of their own. */
export function saveMet(directory: string, met: Met, writer = "test"): void {
  mkdirSync(directory, { recursive: true });
  const name = `${createHash("sha256").update(met.test).digest("hex").slice(0, 16)}-${writer}`;
  writeFileSync(join(directory, `${name}.json`), JSON.stringify(met));
}

/** The test files with what they and their processes met; those whose own end was recorded, so that passed. */
export function loadMet(directory: string): readonly Met[] {
  const merged = new Map<string, { milliseconds: number; pieces: Map<string, Set<number>> }>();
  for (const name of readdirSync(directory).filter((one) => one.endsWith(".json"))) {
    const met = readMet(join(directory, name));
    if (!met) continue;
    const known = merged.get(met.test) ?? { milliseconds: 0, pieces: new Map<string, Set<number>>() };
    known.milliseconds = Math.max(known.milliseconds, met.milliseconds);
    for (const [file, numbers] of Object.entries(met.pieces)) {
      known.pieces.set(file, new Set([...(known.pieces.get(file) ?? []), ...numbers]));
    }
    merged.set(met.test, known);
  }
  return [...merged].map(([test, { milliseconds, pieces }]) => ({
    test,
    milliseconds,
    pieces: Object.fromEntries([...pieces].map(([file, numbers]) => [file, [...numbers]])),
  }));
}

/** A process that was killed while it wrote leaves half a file. */
function readMet(path: string): Met | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Met;
  } catch {
    return undefined;
  }
}

/** The smallest piece that holds a position. */
export function pieceAt(pieces: readonly Piece[], position: number): number {
  let best = 0;
  for (const [index, { start, end }] of pieces.entries()) {
    const other = pieces[best];
    if (start <= position && position < end && other && end - start <= other.end - other.start) best = index;
  }
  return best;
}
