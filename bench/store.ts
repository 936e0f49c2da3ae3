/** Measures what the store costs, as ratios of one run. The compared parts alternate, because the machine is shared. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSqliteStore } from "../src/adapters/store/sqlite/open-store.ts";
import type { Store } from "../src/core/store/store.ts";
import type { Bench, Figure, Goal } from "./report.ts";
import { median, percentile } from "./statistics.ts";
import { bareWriters, minimalWriters } from "./store/bare.ts";
import { plainFilesCost } from "./store/plain-files.ts";
import { lengthenHistories, populate, spread } from "./store/population.ts";
import { type StoreWriters, storeWriters } from "./store/through-store.ts";
import { WRITERS } from "./store/workload.ts";

const ROUNDS = 7;
const MESSAGES = 8_000;
/** Many short rounds, because the compared values differ by a few microseconds. */
const COMPARE_ROUNDS = 31;
const COMPARE_MESSAGES = 3_000;
/** Long rounds, because the plain files are flushed to disk every few seconds and at the end of a round. */
const FILE_ROUNDS = 3;
const FILE_MESSAGES = 40_000;
const MANY_AGENTS = 100_000;
const LONG_HISTORY = 10_000;
const SHORT_HISTORY = 10;

export const storeBench: Bench = {
  about: "durable messages against bare SQLite, and what agents, history and plain files add",
  async run(say) {
    const root = mkdtempSync(join(tmpdir(), "rookery-bench-"));
    const home = (name: string): string => {
      const path = join(root, name);
      mkdirSync(path);
      return path;
    };
    try {
      say(`durable messages: ${ROUNDS} rounds of ${MESSAGES.toLocaleString("en")}, bare and ours in turns …`);
      const durable = await durableMessages(home("ours"), home("bare"));
      say(`${MANY_AGENTS.toLocaleString("en")} agents against ${WRITERS} …`);
      const many = home("many");
      await populate(many, MANY_AGENTS);
      const agents = await compareHomes(home("few"), many, spread(WRITERS, MANY_AGENTS));
      say(`opening a store of ${MANY_AGENTS.toLocaleString("en")} agents …`);
      const opened = openInChild(many);
      say(`${LONG_HISTORY.toLocaleString("en")} entries of history against ${SHORT_HISTORY} …`);
      const [short, long] = [home("short"), home("long")];
      for (const [path, entries] of [
        [short, SHORT_HISTORY],
        [long, LONG_HISTORY],
      ] as const) {
        await populate(path, WRITERS);
        lengthenHistories(path, entries);
      }
      const history = await compareHomes(short, long, spread(WRITERS, WRITERS));
      say("plain files, with and without …");
      const files = await plainFilesCost(home("without"), home("with"), FILE_ROUNDS, FILE_MESSAGES);
      return {
        figures: [
          ...durable.figures,
          ...agents.figures(`${WRITERS} agents`, `${MANY_AGENTS.toLocaleString("en")} agents`),
          ...history.figures(`${SHORT_HISTORY} entries`, `${LONG_HISTORY.toLocaleString("en")} entries`),
          { what: "plain files' share of the processors' time", value: files.cpuShare * 100, unit: "%" },
          { what: "plain files behind by at most", value: files.lagMs, unit: "ms" },
        ],
        goals: [
          ...durable.goals,
          goal("cost of a message with 100,000 agents against 100", 1.3, "less", agents.ratio, "×"),
          goal("cost of a message with 10,000 entries against 10", 1.3, "less", history.ratio, "×"),
          goal("opening 100,000 agents", 1, "less", opened.ms / 1_000, "s"),
          goal("resident with 100,000 agents", 150, "less", opened.residentMb, "MB"),
          goal("plain files' share of the cost", 25, "less", files.share * 100, "%"),
        ],
      };
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
};

const goal = (what: string, wanted: number, better: Goal["better"], measured: number, unit: string): Goal => ({
  what,
  goal: wanted,
  better,
  measured,
  unit,
});

async function durableMessages(ourHome: string, bareHome: string): Promise<{ goals: Goal[]; figures: Figure[] }> {
  const store = openSqliteStore({ home: ourHome });
  const ours = await storeWriters(store, spread(WRITERS, WRITERS));
  const bare = bareWriters(join(bareHome, "bare.db"));
  const minimal = minimalWriters(join(bareHome, "minimal.db"));
  await ours.run(MESSAGES / 4);
  bare.run(MESSAGES / 4);
  minimal.run(MESSAGES / 4);
  const rates = { ours: [] as number[], bare: [] as number[], minimal: [] as number[], ratio: [] as number[] };
  const messageMs: number[] = [];
  const acceptMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const bareRate = (MESSAGES / bare.run(MESSAGES)) * 1_000;
    const measured = await ours.run(MESSAGES);
    const ourRate = (MESSAGES / measured.ms) * 1_000;
    rates.bare.push(bareRate);
    rates.ours.push(ourRate);
    rates.ratio.push(ourRate / bareRate);
    rates.minimal.push((MESSAGES / minimal.run(MESSAGES)) * 1_000);
    messageMs.push(...measured.messageMs);
    acceptMs.push(...measured.acceptMs);
  }
  bare.close();
  minimal.close();
  await store.close();
  return {
    figures: [
      { what: "ours, 100 writers", value: median(rates.ours), unit: "messages/s" },
      { what: "bare SQLite, the same rows, groups of 100", value: median(rates.bare), unit: "messages/s" },
      { what: "bare SQLite, the least rows, groups of 100", value: median(rates.minimal), unit: "messages/s" },
      { what: "accept, median", value: median(acceptMs), unit: "ms" },
      { what: "accept, p99", value: percentile(acceptMs, 0.99), unit: "ms" },
      { what: "accept and step, median", value: median(messageMs), unit: "ms" },
      { what: "accept and step, longest", value: percentile(messageMs, 1), unit: "ms" },
    ],
    goals: [
      goal("durable messages against bare SQLite", 0.6, "more", median(rates.ratio), "×"),
      goal("accept and step, p99", 30, "less", percentile(messageMs, 0.99), "ms"),
    ],
  };
}

interface Comparison {
  /** The cost of a message in the second home, as a multiple of its cost in the first. */
  readonly ratio: number;
  figures(first: string, second: string): Figure[];
}

/** The same work on two homes in turns: on agents 0 to 99 of the first, on `agents` of the second. */
async function compareHomes(firstHome: string, secondHome: string, agents: readonly number[]): Promise<Comparison> {
  const stores: Store[] = [openSqliteStore({ home: firstHome }), openSqliteStore({ home: secondHome })];
  const [first, second] = await Promise.all(
    stores.map((store, i) => storeWriters(store, i === 0 ? spread(WRITERS, WRITERS) : agents)),
  );
  const cost = async (writers: StoreWriters | undefined, messages: number): Promise<number> =>
    ((await writers?.run(messages))?.ms ?? Number.NaN) / messages;
  for (const writers of [first, second]) await cost(writers, COMPARE_MESSAGES);
  const costs = { first: [] as number[], second: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < COMPARE_ROUNDS; round++) {
    const a = await cost(first, COMPARE_MESSAGES);
    const b = await cost(second, COMPARE_MESSAGES);
    costs.first.push(a);
    costs.second.push(b);
    costs.ratio.push(b / a);
  }
  for (const store of stores) await store.close();
  const figure = (what: string, values: number[]): Figure => ({
    what: `a message with ${what}`,
    value: median(values) * 1_000,
    unit: "µs",
  });
  return {
    ratio: median(costs.ratio),
    figures: (a, b) => [figure(a, costs.first), figure(b, costs.second)],
  };
}

function openInChild(home: string): { ms: number; residentMb: number } {
  const script = fileURLToPath(new URL("./store/open-child.ts", import.meta.url));
  const runs = Array.from(
    { length: 3 },
    () =>
      JSON.parse(execFileSync(process.execPath, [script, home], { encoding: "utf8" })) as {
        ms: number;
        residentMb: number;
      },
  );
  return { ms: median(runs.map((run) => run.ms)), residentMb: Math.max(...runs.map((run) => run.residentMb)) };
}
