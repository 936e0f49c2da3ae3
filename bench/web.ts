/**
 * The control room in a real browser, against the real process: the first view with 10,000 conversations and with a history of
 * 50,000 entries, and the memory of a page that watches 200 events a second. `ROOKERY_BENCH_MINUTES` shortens the ten minutes;
 * with 0 only the first views are measured.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Browser, Page } from "playwright-core";
import { openSqliteStore } from "../src/adapters/store/sqlite/open-store.ts";
import { systemIds } from "../src/adapters/system/system-ids.ts";
import type { AgentSeed } from "../src/core/agent/agent.ts";
import { type Entry, entryLine } from "../src/core/history/entry.ts";
import { type EntryId, entryId } from "../src/core/ids.ts";
import type { Op } from "../src/core/store/change.ts";
import { seedAgent } from "../src/engine/context/seed-agent.ts";
import {
  api,
  type FakeModel,
  fakeModel,
  type ModelCall,
  type Served,
  serve,
  writeServedConfig,
} from "../test/e2e/serving.ts";
import { openBrowser, signIn, startBrowser } from "../test/web/browser.ts";
import type { Bench, Goal } from "./report.ts";
import { median } from "./statistics.ts";

const CONVERSATIONS = 10_000;
const ENTRIES = 50_000;
const ROUNDS = 5;
const PORTION = 200;
const PER_SECOND = 200;
const ANSWER_MS = 10_000;
const MINUTES = Number(process.env.ROOKERY_BENCH_MINUTES ?? 10);
const MINUTE_MS = 60_000;

export const webBench: Bench = {
  about:
    "the first view of the control room with many conversations and a long history, and its memory under many events",
  async run(say) {
    const home = mkdtempSync(join(tmpdir(), "rookery-bench-web-"));
    const model = await fakeModel();
    writeServedConfig(home, model, { more: { heartbeat: { every: "0" } } });
    say("making the conversations");
    const long = await fill(home);
    const served = await serve(model, { home });
    const browser = await startBrowser();
    try {
      const views = { now: "now", conversations: "conversations", history: `conversations/${long}` };
      const ready = { now: ".stats", conversations: ".split-list .row", history: ".chat-agent" };
      const times: Record<string, number> = {};
      for (const [name, view] of Object.entries(views)) {
        const rounds = await firstViews(browser, served, view, ready[name as keyof typeof ready]);
        times[name] = median(rounds);
        say(`${name}: ${rounds.map((ms) => Math.round(ms)).join(", ")} ms`);
      }
      const watched = MINUTES > 0 ? await watch(browser, served, model, say) : undefined;
      const goal = (what: string, measured = 0) => ({
        what,
        goal: 1_000,
        better: "less" as const,
        measured,
        unit: "ms",
      });
      return {
        figures: [{ what: "minutes of events", value: MINUTES, unit: "" }],
        goals: [
          goal("first view: now", times.now),
          goal(`first view: ${CONVERSATIONS.toLocaleString("en")} conversations`, times.conversations),
          goal(`first view: a history of ${ENTRIES.toLocaleString("en")} entries`, times.history),
          ...(watched ? goalsOf(watched) : []),
        ],
      };
    } finally {
      await browser.close();
      await served.stop();
      await model.close();
      rmSync(home, { recursive: true, force: true });
    }
  },
};

/** Returns the id of the agent with the long history. */
async function fill(home: string): Promise<string> {
  const ids = systemIds();
  const store = openSqliteStore({ home });
  const commit = (ops: readonly Op[]) => store.commit({ id: ids.change(), site: "bench", at: 1, ops });
  const seeds = Array.from({ length: CONVERSATIONS }, (_, n): AgentSeed => {
    const user = `person-${n}`;
    const seed = seedAgent(ids, { type: "user", connector: "api", userId: user, channelId: user }, 1);
    return withHistory(seed, n === 0 ? ENTRIES : 2, ids.uuid);
  });
  for (let n = 0; n < seeds.length; n += PORTION) {
    await Promise.all(seeds.slice(n, n + PORTION).map((seed) => commit([{ op: "agent.create", seed }])));
  }
  await store.close();
  // As if each person had written once. Posting the messages would start a run for each.
  const db = new DatabaseSync(join(home, "rookery.db"));
  db.exec("UPDATE agents SET last_human_at = 1700000000000 + no * 60000");
  db.close();
  return seeds[0]?.id ?? "";
}

function withHistory(seed: AgentSeed, entries: number, uuid: () => string): AgentSeed {
  const lines = [...seed.lines];
  let { leaf } = seed;
  for (let n = 1; n <= entries; n++) {
    const id = entryId(lines.length, uuid()) as EntryId;
    const text = `${n}: ${"something was said here ".repeat(n % 12)}`;
    const role = n % 2 === 0 ? "assistant" : "user";
    lines.push(
      entryLine({
        type: "message",
        id,
        parentId: leaf,
        role,
        content: [{ type: "text", text }],
        timestamp: 1_700_000_000_000 + n,
      } as Entry),
    );
    leaf = id;
  }
  return { ...seed, lines, leaf };
}

/** From the navigation to the first content, in a browser without a cache. */
async function firstViews(browser: Browser, served: Served, view: string, ready: string): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const opened = await openBrowser(browser, served);
    await signIn(opened, served);
    await opened.page.goto("about:blank");
    const begun = performance.now();
    await opened.page.goto(`${served.url}/#/${view}`, { waitUntil: "commit" });
    await opened.page.locator(ready).first().waitFor();
    // The first round builds the page and warms the process.
    if (round > 0) times.push(performance.now() - begun);
    await opened.close();
  }
  return times;
}

interface Watched {
  readonly heapMb: number;
  readonly perSecond: number;
}

const goalsOf = ({ heapMb, perSecond }: Watched): readonly Goal[] => [
  {
    what: "events a second that reached the page",
    goal: PER_SECOND * 0.99,
    better: "more",
    measured: perSecond,
    unit: "",
  },
  { what: "heap of the page after the events", goal: 200, better: "less", measured: heapMb, unit: "MB" },
];

/** The model says its words by one clock, so that the time between two answers is made up for by the next one. */
async function watch(
  browser: Browser,
  served: Served,
  model: FakeModel,
  say: (text: string) => void,
): Promise<Watched> {
  const begun = performance.now();
  let said = 0;
  model.script = (call: ModelCall) => {
    const answerBegun = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      const due = Math.floor(((now - begun) * PER_SECOND) / 1_000);
      for (; said < due; said++) call.say(`word${said} `);
      if (now - answerBegun < ANSWER_MS) return;
      clearInterval(timer);
      call.end();
    }, 5);
  };
  const opened = await openBrowser(browser, served);
  const { page } = opened;
  await page.addInitScript(countEvents);
  await signIn(opened, served);
  await insist(() => talk(served));
  await page.goto(`${served.url}/#/conversations/main`);
  await page.locator(".chat-agent").first().waitFor({ timeout: MINUTE_MS });
  const from = { at: performance.now(), events: await eventsOf(page) };
  for (let n = 0; performance.now() - from.at < MINUTES * MINUTE_MS; n++) {
    await insist(() => talk(served));
    const seconds = (performance.now() - from.at) / 1_000;
    const rate = ((await eventsOf(page)) - from.events) / seconds;
    if (n % 3 === 0) say(`after ${Math.round(seconds)} s: ${(await heapOf(page)).toFixed(1)} MB, ${rate.toFixed(1)}/s`);
  }
  const perSecond = ((await eventsOf(page)) - from.events) / ((performance.now() - from.at) / 1_000);
  const heapMb = await heapOf(page);
  await opened.close();
  return { heapMb, perSecond };
}

/** One message and its answer. */
async function talk(served: Served): Promise<void> {
  const body = { user: "bench", text: "go on" };
  const { messages } = (await api(served, "/api/terminal/messages", { method: "POST", body })) as {
    messages: { agentId: string; seq: number }[];
  };
  for (const { agentId, seq } of messages) {
    const path = `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60`;
    while (!((await api(served, path)) as { settled: boolean }).settled);
  }
}

/** On a busy machine a socket may be closed under a request. */
async function insist(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 20) throw error;
    }
  }
}

/** Runs in the page: the number of the last word in its streams. One event may contain several words. */
function countEvents(): void {
  const counted = globalThis as { eventsRead?: number };
  counted.eventsRead = 0;
  const { read } = ReadableStreamDefaultReader.prototype;
  const decoder = new TextDecoder();
  ReadableStreamDefaultReader.prototype.read = async function (this: ReadableStreamDefaultReader) {
    const part = await read.call(this);
    const text = typeof part.value === "string" ? part.value : part.value ? decoder.decode(part.value) : "";
    for (const [, n] of text.matchAll(/word(\d+) /gu))
      counted.eventsRead = Math.max(counted.eventsRead ?? 0, Number(n));
    return part;
  };
}

const eventsOf = (page: Page): Promise<number> =>
  page.evaluate(() => (globalThis as { eventsRead?: number }).eventsRead ?? 0);

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1_000_000;
}
