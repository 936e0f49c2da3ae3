/** The skills that the package of this program has. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Four folders above both src/app/operations/skills and dist/app/operations/skills. */
export const packagedDirectory = (): string => fileURLToPath(new URL("../../../../skills", import.meta.url));

export function packagedNames(): readonly string[] {
  try {
    return readdirSync(packagedDirectory()).sort();
  } catch {
    return [];
  }
}
