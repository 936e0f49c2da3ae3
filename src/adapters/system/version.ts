/** The version of this program, from its package. */
import { readFileSync } from "node:fs";

export function readVersion(): string {
  // The package file is three folders above both src/adapters/system and dist/adapters/system.
  const file = new URL("../../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
