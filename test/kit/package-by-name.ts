/** For `node --import`: programs import the package by its name, as its users do, and get these sources. */
import { registerHooks } from "node:module";

const SRC = new URL("../../src/", import.meta.url);
const ENTRY_POINTS: Readonly<Record<string, string>> = {
  rookery: "index.ts",
  "rookery/client": "client.ts",
  "rookery/compat": "compat.ts",
  "rookery/testing": "testing.ts",
};

registerHooks({
  resolve(specifier, context, next) {
    const file = ENTRY_POINTS[specifier];
    return file === undefined ? next(specifier, context) : { url: new URL(file, SRC).href, shortCircuit: true };
  },
});
