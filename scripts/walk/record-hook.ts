/**
 * Loaded with `--require`: records in which file of `src` each function starts, in order. At SIGUSR2 it writes the list into the
 * directory ROOKERY_WALK and starts a new one.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { instrument } from "./instrument.ts";

const SRC = new URL("../../src/", import.meta.url).href;
const directory = process.env.ROOKERY_WALK;

if (isMainThread && directory !== undefined) {
  const files: string[] = [];
  let started: number[] = [];
  Object.assign(globalThis, {
    rookeryWalk(file: number) {
      started.push(file);
    },
  });
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith(SRC) || !url.endsWith(".ts")) return next(url, context);
      const file = files.push(`src/${url.slice(SRC.length)}`) - 1;
      const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8"));
      return { format: "module", source: instrument(source, `rookeryWalk(${file})`), shortCircuit: true };
    },
  });
  let written = 0;
  process.on("SIGUSR2", () => {
    const path = join(directory, String(written++));
    writeFileSync(`${path}.part`, JSON.stringify(started.map((file) => files[file])));
    renameSync(`${path}.part`, path);
    started = [];
  });
}
