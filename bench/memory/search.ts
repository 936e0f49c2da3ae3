/** Searches a filled index: how long each query takes, and how many questions are answered. */
import { type DocumentIndex, findDocuments } from "../../src/adapters/search/find-documents.ts";
import { FREQUENT } from "../../test/memory/conversations.ts";
import { QUESTIONS } from "../../test/memory/questions.ts";
import { percentile } from "../statistics.ts";

/** By kind: the slow kind is visible. */
export function queries(): Readonly<Record<string, readonly string[]>> {
  const pairs = FREQUENT.map((word, n) => `${word} ${FREQUENT[(n * 7 + 3) % FREQUENT.length]}`);
  const several = FREQUENT.map((_, n) =>
    Array.from({ length: 5 }, (_unused, k) => FREQUENT[(n + k * 11) % FREQUENT.length]).join(" "),
  );
  const phrases = FREQUENT.slice(0, 40).map((word, n) => `"${word} ${FREQUENT[n + 1]}"`);
  return {
    "one frequent word": FREQUENT,
    "two frequent words": pairs,
    "five frequent words": several,
    phrases,
    prefixes: ["the*", "kak*", "dent*"],
    questions: QUESTIONS.flatMap(({ exact, paraphrase }) => [exact, paraphrase]),
  };
}

export interface Searched {
  readonly p95: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly exact: number;
  readonly paraphrase: number;
}

export async function searchAll(
  index: () => DocumentIndex,
  textAt: (position: number) => Promise<string>,
): Promise<Searched> {
  const now = Date.parse("2026-12-01T00:00:00Z");
  const found = (query: string) => findDocuments(index(), query, { limit: 5, now });
  for (const some of Object.values(queries())) for (const query of some.slice(0, 5)) await found(query);
  const times = new Map<string, number[]>();
  for (const [kind, some] of Object.entries(queries())) {
    const own: number[] = [];
    for (const query of some) {
      const begun = performance.now();
      await found(query);
      own.push(performance.now() - begun);
    }
    times.set(kind, own);
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
  return {
    p95: percentile([...times.values()].flat(), 0.95),
    byKind: Object.fromEntries([...times].map(([kind, own]) => [kind, percentile(own, 0.95)])),
    exact: await recall("exact"),
    paraphrase: await recall("paraphrase"),
  };
}
