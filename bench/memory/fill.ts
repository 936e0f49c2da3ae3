/** Fills the search benchmark's store: notes and a long history, the same for both stores. */
import type { NewDocument } from "../../src/adapters/search/documents-of.ts";
import { conversations, type GeneratedEntry } from "../../test/memory/conversations.ts";

export const ENTRIES = Number(process.env.ROOKERY_BENCH_ENTRIES ?? 1_000_000);
export const NOTES = Math.round(ENTRIES / 20);
const BATCH = 2_000;
export const SPACES = ["person:owner", "notes:/bench"] as const;

type Add = (
  space: (typeof SPACES)[number],
  documents: readonly (NewDocument & { readonly pos?: number })[],
) => Promise<void>;

/** Notes and conversations in batches. The facts are in the conversations. */
export async function fill(add: Add): Promise<void> {
  const at = Date.parse("2026-01-01T00:00:00Z");
  const fillSpace = async (space: (typeof SPACES)[number], entries: Iterable<GeneratedEntry>) => {
    let batch: Parameters<Add>[1][number][] = [];
    let pos = 0;
    for (const { role, text } of entries) {
      batch.push({
        text,
        at: at + pos * 30_000,
        speaker: space === "person:owner" ? role : "note",
        untrusted: undefined,
        pos: pos++,
      });
      if (batch.length < BATCH) continue;
      await add(space, batch);
      batch = [];
    }
    if (batch.length > 0) await add(space, batch);
  };
  await fillSpace(
    "notes:/bench",
    (function* () {
      for (const entry of conversations(NOTES, 7))
        yield { ...entry, text: entry.text.replace(/[A-Z]\w+ \w+ .*?\./, "") };
    })(),
  );
  await fillSpace("person:owner", conversations(ENTRIES));
}
