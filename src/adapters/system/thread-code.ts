/** The code that starts a thread with a module of this program, under the compile cache of the process. */
// Not by name: an older Node has no such export, and must get as far as the sentence that says so.
import * as nodeModule from "node:module";

/**
 * For a `Worker` with `eval`. A thread does not inherit the compile cache: without it, it would compile all code again and use
 * as much memory. `name`: the module beside `from`, without its ending.
 */
export function threadCode(name: string, from: string): string {
  const cache = nodeModule.getCompileCacheDir();
  const enable = cache ? `require("node:module").enableCompileCache(${JSON.stringify(cache)});` : "";
  const module = new URL(`${name}${from.endsWith(".ts") ? ".ts" : ".js"}`, from).href;
  return `${enable} import(${JSON.stringify(module)});`;
}
