/**
 * Puts the mutant, or the marks of the coverage, into a process that Vitest does not transform: `node --import` for the
 * processes and workers that tests start, and for every reader of a mutated `.sql` file. Nothing on the disk changes, so
 * two mutants can be tried side by side.
 */
import fs from "node:fs";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import { collectMarks } from "./collect-marks.ts";
import { MARKED, marked, saveMet } from "./coverage.ts";
import { currentMutant } from "./current-mutant.ts";
import { mutated } from "./mutant.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SAVE_MS = 500;

const mutant = currentMutant();
if (mutant?.file.endsWith(".sql"))
  replaceText(`${ROOT}${mutant.file}`, mutated(readText(`${ROOT}${mutant.file}`), mutant));
else if (mutant) changeSource((file, source) => (file === mutant.file ? mutated(source, mutant) : undefined));

const directory = process.env.ROOKERY_COVERAGE;
const test = process.env.ROOKERY_COVERED_TEST;
if (directory !== undefined && test !== undefined) {
  const marks = collectMarks();
  changeSource((file, source) => (MARKED.test(file) ? marked(file, source) : undefined));
  const save = (): void => saveMet(directory, { test, milliseconds: 0, pieces: marks() }, String(process.pid));
  process.on("exit", save);
  setInterval(save, SAVE_MS).unref();
}

function changeSource(change: (file: string, source: string) => string | undefined): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.startsWith("file:") || loaded.source === undefined || loaded.source === null) return loaded;
      const path = fileURLToPath(url);
      const text = path.startsWith(ROOT) ? change(path.slice(ROOT.length), readText(path)) : undefined;
      return text === undefined ? loaded : { ...loaded, source: text };
    },
  });
}

function replaceText(path: string, text: string): void {
  const read = fs.readFileSync as (...all: readonly unknown[]) => unknown;
  const patched = (file: fs.PathOrFileDescriptor, ...rest: readonly unknown[]): unknown =>
    pathOf(file) === path ? text : read(file, ...rest);
  fs.readFileSync = patched as typeof fs.readFileSync;
  syncBuiltinESMExports();
}

function readText(path: string): string {
  return fs.readFileSync(path, "utf8");
}

function pathOf(file: fs.PathOrFileDescriptor): string | undefined {
  if (typeof file === "string") return file;
  return file instanceof URL ? fileURLToPath(file) : undefined;
}
