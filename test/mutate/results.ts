/** What was found out about mutants, one line each, so that an interrupted run continues. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./mutant.ts";

export type Verdict =
  | { readonly found: true; readonly by: string }
  | { readonly found: false; readonly why: "no test runs it" | "every test passes" };

export interface Results {
  /** The same text is the same mutant. */
  keyOf(mutant: Mutant): string;
  get(mutant: Mutant): Verdict | undefined;
  /** `forget`: only for this run. */
  set(mutant: Mutant, verdict: Verdict, forget?: boolean): void;
  /** Whether the compiler accepts it, if that is known. */
  compiles(mutant: Mutant): boolean | undefined;
  setCompiles(mutant: Mutant, accepted: boolean, forget?: boolean): void;
}

type Line = { readonly key: string; readonly id: string } & (
  | { readonly verdict: Verdict }
  | { readonly compiles: boolean }
);

/** A mutant that was found stays found while its file is the same; with `again` the survivors are tried once more. */
export function openResults(root: string, path: string, again: boolean): Results {
  const verdicts = new Map<string, Verdict>();
  const accepted = new Map<string, boolean>();
  for (const line of existsSync(path) ? readFileSync(path, "utf8").split("\n") : []) {
    if (!line.endsWith("}")) continue;
    const one = JSON.parse(line) as Line;
    if ("compiles" in one) accepted.set(one.key, one.compiles);
    else if ("verdict" in one && (one.verdict.found || !again)) verdicts.set(one.key, one.verdict);
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
    compiles: (mutant) => accepted.get(keyOf(mutant)),
    setCompiles(mutant, isAccepted, forget = false) {
      accepted.set(keyOf(mutant), isAccepted);
      if (!forget) append({ key: keyOf(mutant), id: mutant.id, compiles: isAccepted });
    },
  };
}
