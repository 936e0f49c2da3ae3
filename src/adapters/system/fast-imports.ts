/**
 * Resolves imports of this package's own files faster than Node does. Such an import names an existing file in full, so no
 * stat, package search or format detection is needed; over some hundred files this saves a tenth of the start time. It also
 * replaces the sixty languages that zod loads by English. Every other import is resolved by Node.
 */
import { registerHooks } from "node:module";

/** The root of the sources: `src/`, or `dist/` in the built package. */
const ROOT = new URL("../..", import.meta.url).href;
const [EXTENSION, FORMAT] = import.meta.url.endsWith(".ts") ? [".ts", "module-typescript"] : [".js", "module"];

export function useFastImports(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (specifier === "../locales/index.js" && parentURL?.includes("/node_modules/zod/v4/")) {
        return next("../locales/en.js", context);
      }
      const url = ownFile(specifier, parentURL);
      return url === undefined ? next(specifier, context) : { url, format: FORMAT, shortCircuit: true };
    },
  });
}

/** The address of a file of this package. Undefined for any other import. */
export function ownFile(specifier: string, parentURL: string | undefined): string | undefined {
  if (!specifier.startsWith(".") || !specifier.endsWith(EXTENSION) || !parentURL?.startsWith(ROOT)) return undefined;
  return new URL(specifier, parentURL).href;
}
