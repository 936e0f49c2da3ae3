/** Finds every exported function of the sources whose first parameter is a text, so that none is left out of the fuzz test. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { maskSource } from "../../scripts/mask-source.ts";

export interface FoundFunction {
  /** `src/core/trim-chars.ts#trimChars` */
  readonly key: string;
  readonly file: string;
  readonly name: string;
  readonly parameter: string;
}

const ROOT = join(import.meta.dirname, "../..");
const EXPORTED =
  /\bexport\s+(?:async\s+)?(?:function\*?\s+(\w+)\s*(?:<[^(]*>)?|const\s+(\w+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:<[^(]*>)?)\(\s*(\w+)\??\s*:\s*(?:string|TypedText)\b(?!\[)/g;

export function findTextFunctions(): readonly FoundFunction[] {
  return (
    globSync("src/**/*.ts", { cwd: ROOT })
      // Test code reads no text from outside.
      .filter((file) => !/\.(?:test|test-kit)\.ts$|^src\/app\/testing\//.test(file))
      .sort()
      .flatMap((file) => {
        const { code } = maskSource(readFileSync(join(ROOT, file), "utf8"));
        return [...code.matchAll(EXPORTED)].map((match) => {
          const name = match[1] ?? match[2] ?? "";
          return { key: `${file}#${name}`, file, name, parameter: match[3] ?? "" };
        });
      })
  );
}

export async function load({ file, name }: FoundFunction): Promise<(...args: readonly unknown[]) => unknown> {
  const module = (await import(join(ROOT, file))) as Record<string, unknown>;
  return module[name] as (...args: readonly unknown[]) => unknown;
}
