/**
 * Puts the mutant, or the switches, into a process that Vitest does not transform: `node --import` for the processes and
 * workers that tests start, and for every reader of a mutated `.sql` file. Nothing on the disk changes, so two mutants can
 * be tried side by side.
 */
import fs from "node:fs";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import { followControl } from "./control.ts";
import { currentMutant } from "./current-mutant.ts";
import type { Batch } from "./journal.ts";
import { mutated } from "./mutant.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const mutant = currentMutant();
if (mutant?.file.endsWith(".sql"))
  replaceText(`${ROOT}${mutant.file}`, mutated(readText(`${ROOT}${mutant.file}`), mutant));
else if (mutant) changeSource((file, source) => (file === mutant.file ? mutated(source, mutant) : undefined));

const many = process.env.ROOKERY_MUTANTS;
const control = process.env.ROOKERY_CONTROL;
if (many !== undefined && control !== undefined && fs.existsSync(many)) {
  const { sources } = JSON.parse(readText(many)) as Batch;
  followControl(control);
  changeSource((file) => sources[file]);
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
