/**
 * Measures what it costs to build a context of 5,000 entries after a compaction, against the kept part alone. In memory, so
 * that no disk is measured. Processor time, the median of many rounds.
 */

import { openMemoryStore } from "../src/adapters/store/sqlite/open-store.ts";
import { systemIds } from "../src/adapters/system/system-ids.ts";
import { type Entry, entryLine } from "../src/core/history/entry.ts";
import type { AgentId, EntryId } from "../src/core/ids.ts";
import type { Store } from "../src/core/store/store.ts";
import { buildHistoryContext } from "../src/engine/context/context.ts";
import { chain, type EntryDraft } from "../src/engine/context/entries.ts";
import { seedAgent } from "../src/engine/context/seed-agent.ts";
import type { Bench } from "./report.ts";
import { median } from "./statistics.ts";

const ENTRIES = 5_000;
const KEPT = 40;
const ROUNDS = 60;
const PER_ROUND = 20;

interface Made {
  readonly store: Store;
  readonly agentId: AgentId;
  readonly leaf: EntryId;
}

export const contextBench: Bench = {
  about: "building a context of a long history after a compaction",
  async run(say) {
    const long = await make(ENTRIES, true);
    const kept = await make(KEPT, true);
    const whole = await make(ENTRIES, false);
    for (const made of [long, kept]) await microseconds(made);
    const figures = { long: [] as number[], kept: [] as number[] };
    for (let round = 1; round <= ROUNDS; round++) {
      // Alternating, so that other load of the machine affects both.
      figures.kept.push(await microseconds(kept));
      figures.long.push(await microseconds(long));
      if (round % 20 === 0)
        say(
          `round ${round}: ${Math.round(figures.long.at(-1) ?? 0)} µs, kept part alone ${Math.round(figures.kept.at(-1) ?? 0)} µs`,
        );
    }
    const uncompacted = await microseconds(whole, 3);
    return {
      figures: [
        {
          what: `a context of ${ENTRIES.toLocaleString("en")} entries, ${KEPT} kept`,
          value: median(figures.long),
          unit: "µs",
        },
        { what: `the same kept part with nothing before it`, value: median(figures.kept), unit: "µs" },
        { what: `${ENTRIES.toLocaleString("en")} entries that were never compacted`, value: uncompacted, unit: "µs" },
      ],
      goals: [
        {
          what: "after a compaction against the kept part",
          goal: 1.2,
          better: "less",
          measured: median(figures.long) / median(figures.kept),
          unit: "×",
        },
      ],
    };
  },
};

async function microseconds({ store, agentId, leaf }: Made, times = PER_ROUND): Promise<number> {
  const begun = process.cpuUsage();
  for (let n = 0; n < times; n++) await buildHistoryContext(store, agentId, leaf);
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / times;
}

/** A history of this many entries; the compaction keeps the last `KEPT` of them. */
async function make(entries: number, isCompacted: boolean): Promise<Made> {
  const ids = systemIds();
  const store = openMemoryStore();
  const seed = seedAgent(ids, { type: "user", connector: "bench", userId: "u", channelId: "u" }, 1);
  const talk = Array.from({ length: entries }, (_, n): EntryDraft => {
    const text = `entry ${n} ${"word ".repeat(40)}`;
    return { type: "message", role: n % 2 ? "assistant" : "user", content: [{ type: "text", text }], timestamp: n };
  });
  const made = chain(ids, { nextPos: seed.lines.length, leaf: seed.leaf }, talk);
  const first = made.entries.at(-KEPT) as Entry;
  const compaction: EntryDraft = {
    ...{ type: "compaction", summary: "word ".repeat(200), firstKeptEntryId: first.id as EntryId, tokensBefore: 9 },
    ...{ timestamp: entries, details: { kind: "summary", reason: "critical", tokensAfter: 5 } },
  };
  const last = chain(ids, { nextPos: seed.lines.length + entries, leaf: made.leaf }, isCompacted ? [compaction] : []);
  const lines = [...seed.lines, ...[...made.entries, ...last.entries].map(entryLine)];
  const change = { id: ids.change(), site: "bench", at: 1 };
  await store.commit({ ...change, ops: [{ op: "agent.create", seed: { ...seed, lines, leaf: last.leaf } }] });
  return { store, agentId: seed.id, leaf: last.leaf };
}
