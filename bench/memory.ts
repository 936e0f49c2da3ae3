/**
 * Measures search: 50,000 notes and 1,000,000 entries of history on SQLite and PostgreSQL, with the most frequent words among the
 * queries; what indexing adds to a turn; and how many questions are answered. `ROOKERY_BENCH_ENTRIES` makes it smaller.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { documentsOfLine } from "../src/adapters/search/documents-of.ts";
import { type DocumentIndex, findDocuments } from "../src/adapters/search/find-documents.ts";
import { frequentWords, postgresDocuments, type SpaceRow } from "../src/adapters/search/postgres/search-documents.ts";
import { addDocuments, createSearchTables, spaceNumber } from "../src/adapters/search/postgres/search-tables.ts";
import { homeIndex } from "../src/adapters/search/sqlite/home-index.ts";
import { openIndexFile } from "../src/adapters/search/sqlite/index-file.ts";
import { openPostgresStore } from "../src/adapters/store/postgres/open-store.ts";
import { createRookery } from "../src/app/library/create-rookery.ts";
import { conversations, FREQUENT, type GeneratedEntry } from "../test/memory/conversations.ts";
import { QUESTIONS } from "../test/memory/questions.ts";
import { startServer } from "../test/postgres/server.ts";
import type { Bench, Figure, Goal } from "./report.ts";
import { percentile } from "./statistics.ts";

const ENTRIES = Number(process.env.ROOKERY_BENCH_ENTRIES ?? 1_000_000);
const NOTES = Math.round(ENTRIES / 20);
const BATCH = 2_000;
const TURNS = 200;
const SPACES = ["person:owner", "notes:/bench"] as const;

type Add = (
  space: (typeof SPACES)[number],
  documents: readonly (ReturnType<typeof documentsOfLine>[number] & { pos?: number })[],
) => Promise<void>;

/** Notes and conversations in batches. The facts are in the conversations. */
async function fill(add: Add): Promise<void> {
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

function queries(): readonly string[] {
  const pairs = FREQUENT.map((word, n) => `${word} ${FREQUENT[(n * 7 + 3) % FREQUENT.length]}`);
  const several = FREQUENT.map((_, n) =>
    Array.from({ length: 5 }, (_unused, k) => FREQUENT[(n + k * 11) % FREQUENT.length]).join(" "),
  );
  const phrases = FREQUENT.slice(0, 40).map((word, n) => `"${word} ${FREQUENT[n + 1]}"`);
  return [
    ...FREQUENT,
    ...pairs,
    ...several,
    ...phrases,
    "the*",
    "kak*",
    "dent*",
    ...QUESTIONS.flatMap(({ exact, paraphrase }) => [exact, paraphrase]),
  ];
}

interface Searched {
  readonly p95: number;
  readonly exact: number;
  readonly paraphrase: number;
}

async function search(index: () => DocumentIndex, textAt: (position: number) => Promise<string>): Promise<Searched> {
  const now = Date.parse("2026-12-01T00:00:00Z");
  const found = (query: string) => findDocuments(index(), query, { limit: 5, now });
  for (const query of queries().slice(0, 20)) await found(query);
  const times: number[] = [];
  for (const query of queries()) {
    const begun = performance.now();
    await found(query);
    times.push(performance.now() - begun);
  }
  const recall = async (kind: "exact" | "paraphrase"): Promise<number> => {
    let good = 0;
    for (const question of QUESTIONS) {
      const hits = (await found(question[kind])).filter(({ source }) => source === "conversation");
      const texts = await Promise.all(hits.map(({ position = 0 }) => textAt(position)));
      if (texts.some((text) => text.includes(question.fact))) good++;
    }
    return good / QUESTIONS.length;
  };
  return { p95: percentile(times, 0.95), exact: await recall("exact"), paraphrase: await recall("paraphrase") };
}

async function onSqlite(directory: string): Promise<Searched> {
  const index = openIndexFile(join(directory, "search.db"));
  await fill(async (space, documents) => {
    const from = space === "person:owner" ? { agent: { no: 1, id: "a".repeat(24) } } : { file: 1 };
    index.transaction(() => index.add(space, from, documents));
  });
  const text = "SELECT text FROM docs WHERE agent = 1 AND pos = ?";
  index.db.sql.exec("CREATE INDEX bench_pos ON docs (pos)");
  const searched = await search(
    () => index.inSpaces(SPACES),
    async (position) => index.db.get<{ text: string }>(text, position)?.text ?? "",
  );
  index.close();
  return searched;
}

async function onPostgres(): Promise<Searched> {
  const server = await startServer();
  const store = await openPostgresStore({ url: server.url });
  const { connections } = store;
  try {
    await createSearchTables(connections);
    const numbers = new Map<string, number>();
    await connections.use("read", async (client) => {
      for (const space of SPACES) numbers.set(space, await spaceNumber(client, space));
      await client.query("SET synchronous_commit = off");
      await fill((space, documents) =>
        addDocuments(
          client,
          numbers.get(space) ?? 0,
          space === "person:owner" ? { agent: "a".repeat(24) } : { file: 1 },
          documents,
        ),
      );
      await client.query("VACUUM ANALYZE search_docs");
      await client.query("CREATE INDEX bench_pos ON search_docs (pos)");
    });
    const rows = await connections.all<SpaceRow>({ name: "bench-spaces", text: "SELECT no, next FROM search_spaces" });
    const frequent = frequentWords(connections, Date.now);
    const textAt = { name: "bench-text", text: "SELECT text FROM search_docs WHERE pos = $1 AND agent IS NOT NULL" };
    return await search(
      () => postgresDocuments(connections, rows, frequent, undefined),
      async (position) => (await connections.one<{ text: string }>(textAt, position))?.text ?? "",
    );
  } finally {
    await store.close();
    await server.stop();
  }
}

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
      for (const [store, limit, run] of [
        ["SQLite", 50, onSqlite],
        ["PostgreSQL", 100, onPostgres],
      ] as const) {
        say(`filling ${store}`);
        const { p95, exact, paraphrase } = await run(directory);
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
