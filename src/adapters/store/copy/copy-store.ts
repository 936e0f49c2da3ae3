/**
 * Copies a store into an empty one and verifies it: as many rows in each table, and the same digest over all of them, each
 * read back from its own database. The copy is made durable only if both agree.
 */
import { createHash } from "node:crypto";
import { InvalidInputError, InvariantError } from "../../../core/errors.ts";
import type { CopyEnd } from "./copy-end.ts";
import { COPIED, type CopiedRow, type CopiedTable } from "./tables.ts";

export interface CopiedCount {
  readonly table: string;
  readonly rows: number;
  readonly digest: string;
}

/** Rejects, and leaves the target unchanged, if the target is not empty or anything differs. */
export async function copyStore(
  from: CopyEnd,
  to: CopyEnd,
  onProgress: (text: string) => void = () => {},
): Promise<readonly CopiedCount[]> {
  if (!(await to.isEmpty())) {
    throw new InvalidInputError(`There are agents in ${to.describe} already.`, {
      hint: "Copy into an empty store. Nothing was changed.",
    });
  }
  const counts: CopiedCount[] = [];
  for (const table of COPIED) {
    onProgress(`Copying ${table.name}.`);
    const sum = digest();
    for await (const rows of from.read(table)) {
      for (const row of rows) sum.add(row);
      await to.write(table, rows);
    }
    counts.push({ table: table.name, ...sum.end() });
  }
  onProgress("Comparing both.");
  for (const [index, table] of COPIED.entries()) {
    const there = await digestOf(to, table);
    const here = counts[index];
    if (there.digest === here?.digest) continue;
    throw new InvariantError(`The copy of ${table.name} differs: ${there.rows} rows of ${here?.rows}.`, {
      hint: "Nothing was copied. Please report this.",
    });
  }
  await to.finish();
  return counts;
}

async function digestOf(end: CopyEnd, table: CopiedTable): Promise<{ rows: number; digest: string }> {
  const sum = digest();
  for await (const rows of end.read(table)) for (const row of rows) sum.add(row);
  return sum.end();
}

function digest() {
  const hash = createHash("sha256");
  let rows = 0;
  return {
    add(row: CopiedRow): void {
      rows += 1;
      hash.update(JSON.stringify(row)).update("\n");
    },
    end: () => ({ rows, digest: hash.digest("hex") }),
  };
}
