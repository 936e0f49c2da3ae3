/**
 * The list of changes in `changes/journal.jsonl` of the home. A change is a line, flushed before the file changes, and its end is
 * another one. One process has the home at a time (M7). A torn last line is skipped.
 */
import { existsSync, readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { FILE_MODE } from "../../../config/paths.ts";
import { type ChangeState, type FileChange, fileChangeSchema } from "../../../core/file-change.ts";

const lineSchema = z.union([
  z.object({ change: fileChangeSchema }),
  z.object({ end: z.int(), state: z.enum(["done", "failed"]) }),
  /** The number of the last change, which may be among the removed ones: no number is used twice. */
  z.object({ last: z.int() }),
]);
type Line = z.infer<typeof lineSchema>;

type JournalRow = z.infer<typeof fileChangeSchema> & { readonly state: ChangeState };

/** What is kept. Older changes are removed. */
export interface ChangeLimits {
  readonly rows: number;
  readonly ofFile: number;
  /** Of all versions. */
  readonly bytes: number;
  /** The journal is written again when it has this many rows more than are kept. */
  readonly spare: number;
}

const LIMITS: ChangeLimits = { rows: 5_000, ofFile: 200, bytes: 256 * 1024 * 1024, spare: 200 };

export class ChangeJournal {
  readonly #file: string;
  readonly #limits: ChangeLimits;
  #rows: Map<number, JournalRow> | undefined;
  #last = 0;

  constructor(directory: string, limits: ChangeLimits = LIMITS) {
    this.#limits = limits;
    this.#file = join(directory, "journal.jsonl");
  }

  /** By id. Throws if the file exists and cannot be read. */
  get rows(): ReadonlyMap<number, JournalRow> {
    return this.#read();
  }

  /** The number of the last change; 0 if there is none. */
  get last(): number {
    this.#read();
    return this.#last;
  }

  #read(): Map<number, JournalRow> {
    if (this.#rows) return this.#rows;
    const rows = new Map<number, JournalRow>();
    let last = 0;
    const texts = existsSync(this.#file) ? readFileSync(this.#file, "utf8").split("\n") : [];
    for (const text of texts) {
      const line = parsed(text);
      if (!line) continue;
      if ("last" in line) last = line.last;
      else if ("change" in line) rows.set(line.change.id, { ...line.change, state: "begun" });
      else {
        const begun = rows.get(line.end);
        if (begun) rows.set(line.end, { ...begun, state: line.state });
      }
    }
    this.#last = Math.max(last, ...rows.keys());
    this.#rows = rows;
    return rows;
  }

  /** Durable when it resolves. */
  async begin(change: Omit<JournalRow, "id" | "state">): Promise<JournalRow> {
    const rows = this.#read();
    const row = { id: this.#last + 1, ...change };
    await append(this.#file, { change: row });
    this.#last = row.id;
    const begun: JournalRow = { ...row, state: "begun" };
    rows.set(row.id, begun);
    return begun;
  }

  async end(id: number, state: "done" | "failed"): Promise<void> {
    const row = this.#read().get(id);
    if (!row) return;
    await append(this.#file, { end: id, state });
    this.#rows?.set(id, { ...row, state });
  }

  /** Removes changes, and forgets the oldest if there are too many. Returns whether the journal has changed. */
  async prune(isRemoved: (row: JournalRow) => boolean = () => false): Promise<boolean> {
    const rows = [...this.#read().values()];
    const kept = new Set(newest(rows, this.#limits).filter((row) => !isRemoved(row)));
    const removed = rows.length - kept.size;
    if (removed === 0 || (removed < this.#limits.spare && !rows.some(isRemoved))) return false;
    const left = rows.filter((row) => kept.has(row));
    const changes = left.flatMap(({ state, ...change }): Line[] =>
      state === "begun" ? [{ change }] : [{ change }, { end: change.id, state }],
    );
    const lines: readonly Line[] = [{ last: this.#last }, ...changes];
    const handle = await open(`${this.#file}.tmp`, "w", FILE_MODE);
    try {
      await handle.writeFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${this.#file}.tmp`, this.#file);
    this.#rows = new Map(left.map((row) => [row.id, row]));
    return true;
  }
}

/** Those within the limits. */
function newest(rows: readonly JournalRow[], limits: ChangeLimits): readonly JournalRow[] {
  const ofFile = new Map<string, number>();
  const seen = new Set<string>();
  let bytes = 0;
  return rows
    .toSorted((a, b) => b.id - a.id)
    .slice(0, limits.rows)
    .filter(({ file, before, after }) => {
      const count = (ofFile.get(file) ?? 0) + 1;
      ofFile.set(file, count);
      for (const version of [after, before]) {
        if (!version || seen.has(version.sha256)) continue;
        seen.add(version.sha256);
        bytes += version.bytes;
      }
      return count <= limits.ofFile && bytes <= limits.bytes;
    });
}

/** With what has become of each change. */
export function withUndone(rows: ReadonlyMap<number, JournalRow>): readonly FileChange[] {
  const undone = new Map<number, number>();
  for (const { id, undoes, state } of rows.values()) {
    if (undoes !== undefined && state === "done") undone.set(undoes, id);
  }
  return [...rows.values()].map((row) => ({ ...row, undoneBy: undone.get(row.id) }));
}

function parsed(text: string): Line | undefined {
  if (text === "") return undefined;
  try {
    return lineSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

async function append(file: string, line: Line): Promise<void> {
  const handle = await open(file, "a", FILE_MODE);
  try {
    // A torn last line must not swallow this one.
    await handle.writeFile(`\n${JSON.stringify(line)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
