/**
 * The control room in a real browser, against the real process: the first view with 10,000 conversations and with a history of
 * 50,000 entries, and the memory of a page that watches 200 events a second. `ROOKERY_BENCH_MINUTES` shortens the ten minutes.
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
import type { Bench } from "./report.ts";
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
      const { heapMb, events } = await watch(browser, served, model, say);
      const goal = (what: string, measured = 0) => ({
        what,
        goal: 1_000,
        better: "less" as const,
        measured,
        unit: "ms",
      });
      return {
        figures: [
          { what: "minutes of events", value: MINUTES, unit: "" },
          { what: "events a second that reached the page", value: events, unit: "" },
        ],
        goals: [
          goal("first view: now", times.now),
          goal(`first view: ${CONVERSATIONS.toLocaleString("en")} conversations`, times.conversations),
          goal(`first view: a history of ${ENTRIES.toLocaleString("en")} entries`, times.history),
          { what: "heap of the page after the events", goal: 200, better: "less", measured: heapMb, unit: "MB" },
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

async function watch(browser: Browser, served: Served, model: FakeModel, say: (text: string) => void) {
  let pieces = 0;
  model.script = (call: ModelCall) => {
    const begun = performance.now();
    let said = 0;
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - begun) * PER_SECOND) / 1_000);
      for (; said < due; said++, pieces++) call.say(`word${said} `);
      if (performance.now() - begun < ANSWER_MS) return;
      clearInterval(timer);
      call.end();
    }, 5);
  };
  const opened = await openBrowser(browser, served);
  await signIn(opened, served);
  const talk = () =>
    api(served, "/api/terminal/messages", { method: "POST", body: { user: "bench", text: "go on" } }) as Promise<{
      messages: { agentId: string; seq: number }[];
    }>;
  await talk();
  await opened.page.goto(`${served.url}/#/conversations/main`);
  const begun = performance.now();
  for (let n = 0; performance.now() - begun < MINUTES * MINUTE_MS; n++) {
    const { messages } = await talk();
    const [{ agentId, seq } = { agentId: "", seq: 0 }] = messages;
    await api(served, `/api/agents/${agentId}/messages/${seq}?waitSeconds=60`);
    if (n % 3 === 0)
      say(`after ${Math.round((performance.now() - begun) / 1_000)} s: ${(await heapOf(opened.page)).toFixed(1)} MB`);
  }
  const events = pieces / ((performance.now() - begun) / 1_000);
  const heapMb = await heapOf(opened.page);
  await opened.close();
  return { heapMb, events };
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1_000_000;
}
