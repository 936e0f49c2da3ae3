/** Mutants that change nothing anybody can see: `equivalent.json` lists each with the reason. They do not count. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutant.ts";

export interface Equivalent {
  readonly file: string;
  readonly operator: string;
  /** The line of the source as it stands, without its indentation. */
  readonly line: string;
  readonly replacement: string;
  readonly reason: string;
}

export function loadEquivalent(): readonly Equivalent[] {
  return JSON.parse(readFileSync(new URL("./equivalent.json", import.meta.url), "utf8")) as Equivalent[];
}

export function isEquivalent(root: string, list: readonly Equivalent[], mutant: Mutant): boolean {
  const same = list.filter((one) => one.file === mutant.file && one.operator === mutant.operator);
  return same.some((one) => one.replacement === mutant.replacement && one.line === lineOf(root, mutant));
}

/** An entry whose line is gone describes nothing any more. */
export function outdated(root: string, list: readonly Equivalent[]): readonly Equivalent[] {
  return list.filter(({ file, line }) => !linesOf(root, file).some((one) => one.trim() === line));
}

function lineOf(root: string, mutant: Mutant): string {
  return (linesOf(root, mutant.file)[mutant.line - 1] ?? "").trim();
}

function linesOf(root: string, file: string): readonly string[] {
  try {
    return readFileSync(join(root, file), "utf8").split("\n");
  } catch {
    return [];
  }
}
