/** The results of mutants, one line each, so that an interrupted run continues. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./mutant.ts";

export type Verdict =
  | { readonly found: true; readonly by: string }
  | { readonly found: false; readonly why: "no test runs it" | "every test passes" | "its tests cannot run here" };

/** A mutant whose tests cannot run on this machine says nothing about them. */
export function isTried(verdict: Verdict | undefined): boolean {
  return verdict !== undefined && (verdict.found || verdict.why !== "its tests cannot run here");
}

export interface Results {
  /** The same text is the same mutant. */
  keyOf(mutant: Mutant): string;
  get(mutant: Mutant): Verdict | undefined;
  /** `forget`: only for this run. */
  set(mutant: Mutant, verdict: Verdict, forget?: boolean): void;
}

interface Line {
  readonly key: string;
  readonly id: string;
  readonly verdict: Verdict;
}

/** A mutant that was found stays found while its file is the same; with `again` the survivors are tried once more. */
export function openResults(root: string, path: string, again: boolean): Results {
  const verdicts = new Map<string, Verdict>();
  for (const line of existsSync(path) ? readFileSync(path, "utf8").split("\n") : []) {
    if (!line.endsWith("}")) continue;
    const { key, verdict } = JSON.parse(line) as Line;
    if (verdict.found || !again) verdicts.set(key, verdict);
  }
  const keys = new WeakMap<Mutant, string>();
  const keyOf = (mutant: Mutant): string => {
    const known = keys.get(mutant);
    if (known !== undefined) return known;
    const text = mutated(readFileSync(join(root, mutant.file), "utf8"), mutant);
    const key = createHash("sha256").update(`${mutant.file}\n${text}`).digest("hex").slice(0, 32);
    keys.set(mutant, key);
    return key;
  };
  const append = (line: Line): void => {
    mkdirSync(dirname(path), { recursive: true });
    appendFileSync(path, `${JSON.stringify(line)}\n`);
  };
  return {
    keyOf,
    get: (mutant) => verdicts.get(keyOf(mutant)),
    set(mutant, verdict, forget = false) {
      verdicts.set(keyOf(mutant), verdict);
      if (!forget) append({ key: keyOf(mutant), id: mutant.id, verdict });
    },
  };
}
