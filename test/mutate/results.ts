/** What was found out about mutants, one line each, so that an interrupted run continues. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./mutant.ts";
import type { Verdict } from "./try-mutant.ts";

export type Outcome = Verdict | { readonly refused: "types" };

export interface Results {
  get(mutant: Mutant): Outcome | undefined;
  /** `forget`: only for this run. */
  set(mutant: Mutant, outcome: Outcome, forget?: boolean): void;
}

/** A mutant that was found stays found while its file is the same; with `again` the survivors are tried once more. */
export function openResults(root: string, path: string, again: boolean): Results {
  const known = new Map<string, Outcome>();
  if (existsSync(path)) {
    for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
      const { key, outcome } = JSON.parse(line) as { key: string; outcome: Outcome };
      if (again && "found" in outcome && !outcome.found) known.delete(key);
      else known.set(key, outcome);
    }
  }
  const keyOf = (mutant: Mutant): string => {
    const text = mutated(readFileSync(join(root, mutant.file), "utf8"), mutant);
    return createHash("sha256").update(`${mutant.file}\n${text}`).digest("hex").slice(0, 32);
  };
  return {
    get: (mutant) => known.get(keyOf(mutant)),
    set(mutant, outcome, forget = false) {
      const key = keyOf(mutant);
      known.set(key, outcome);
      if (forget) return;
      mkdirSync(dirname(path), { recursive: true });
      appendFileSync(path, `${JSON.stringify({ key, id: mutant.id, outcome })}\n`);
    },
  };
}
