/**
 * Puts the switches into a process that Vitest does not transform: `node --import` for the processes and workers that tests
 * start.
 */
import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { followControl } from "./control.ts";
import type { Batch } from "./journal.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const many = process.env.ROOKERY_MUTANTS;
const control = process.env.ROOKERY_CONTROL;
if (many !== undefined && control !== undefined && existsSync(many)) {
  const { sources } = JSON.parse(readFileSync(many, "utf8")) as Batch;
  followControl(control);
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.startsWith("file:") || loaded.source === undefined || loaded.source === null) return loaded;
      const path = fileURLToPath(url);
      const text = path.startsWith(ROOT) ? sources[path.slice(ROOT.length)] : undefined;
      return text === undefined ? loaded : { ...loaded, source: text };
    },
  });
}
