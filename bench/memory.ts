/**
 * Measures search: 50,000 notes and 1,000,000 entries of history on SQLite and PostgreSQL, with the most frequent words among the
 * queries; what indexing adds to a turn; and how many questions are answered. `ROOKERY_BENCH_ENTRIES` makes it smaller,
 * `ROOKERY_BENCH_STORE` chooses one store. The filled indexes are kept and used again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homeIndex } from "../src/adapters/search/sqlite/home-index.ts";
import { createRookery } from "../src/app/library/create-rookery.ts";
import { conversations } from "../test/memory/conversations.ts";
import { ENTRIES, NOTES } from "./memory/fill.ts";
import { onPostgres, onSqlite } from "./memory/on-stores.ts";
import type { Bench, Figure, Goal } from "./report.ts";

const TURNS = 200;
const only = process.env.ROOKERY_BENCH_STORE;
const STORES = [
  ["SQLite", 50, onSqlite],
  ["PostgreSQL", 100, onPostgres],
] as const;

/** Processor time of indexing what some turns wrote, as a part of the turns' own. */
async function indexingShare(home: string): Promise<number> {
  const rookery = await createRookery({ home, model: "offline", env: {} });
  const texts = [...conversations(TURNS, 3)].map(({ text }) => text);
  await rookery.agent("warm").ask("hello");
  const before = process.cpuUsage();
  for (const text of texts) await rookery.agent("bench").ask(text);
  const turns = process.cpuUsage(before);
  await rookery.close();
  const index = homeIndex({ databasePath: join(home, "rookery.db"), indexPath: join(home, "bench-search.db") });
  const begun = process.cpuUsage();
  while (index.step());
  const indexed = process.cpuUsage(begun);
  index.close();
  return (indexed.user + indexed.system) / (turns.user + turns.system);
}

export const memoryBench: Bench = {
  about: "search over 50,000 notes and 1,000,000 entries, on SQLite and PostgreSQL",
  async run(say) {
    const directory = mkdtempSync(join(tmpdir(), "rookery-bench-memory-"));
    const goals: Goal[] = [];
    const figures: Figure[] = [
      { what: "entries", value: ENTRIES, unit: "" },
      { what: "notes", value: NOTES, unit: "" },
    ];
    try {
      const share = await indexingShare(join(directory, "home"));
      goals.push({
        what: "indexing, of a turn's processor time",
        goal: 10,
        better: "less",
        measured: share * 100,
        unit: "%",
      });
      for (const [store, limit, run] of STORES) {
        if (only !== undefined && only.toLowerCase() !== store.toLowerCase()) continue;
        say(`${store}; filling it takes minutes, the first time`);
        const { p95, byKind, exact, paraphrase } = await run();
        for (const [kind, value] of Object.entries(byKind))
          figures.push({ what: `${store}: p95 of ${kind}`, value, unit: "ms" });
        goals.push({ what: `${store}: a search, p95`, goal: limit, better: "less", measured: p95, unit: "ms" });
        goals.push({ what: `${store}: recall@5, exact words`, goal: 0.9, better: "more", measured: exact, unit: "" });
        figures.push({ what: `${store}: recall@5, paraphrases`, value: paraphrase, unit: "" });
        say(`${store}: p95 ${p95.toFixed(1)} ms, exact ${exact}, paraphrases ${paraphrase}`);
      }
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
    return { goals, figures };
  },
};
