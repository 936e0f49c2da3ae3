/**
 * An experiment, kept so that it can be repeated: would a writer thread pay? The same work, once with `applyGroup` on the
 * main thread (as the store does it) and once with every change posted to a worker that applies, flushes and answers.
 * Measured: messages per second, and how much of the main thread's time is left for an engine.
 *
 * Run it with `node bench/experiments/writer-thread.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import type { Change, CommitResult } from "../../src/core/store/change.ts";
import type { Store } from "../../src/core/store/store.ts";
import { median, percentile } from "../statistics.ts";
import { spread } from "../store/population.ts";
import { storeWriters } from "../store/through-store.ts";
import { WRITERS } from "../store/workload.ts";

const ROUNDS = 7;
const MESSAGES = 8_000;

/** A store whose commits are made by another thread. Changes of one turn of the event loop are sent as one message. */
function openThreadStore(home: string): { store: Pick<Store, "commit" | "agentByKey">; close(): Promise<void> } {
  const worker = new Worker(new URL("./writer-thread-worker.ts", import.meta.url), { workerData: { home } });
  const waiting = new Map<number, (result: CommitResult) => void>();
  let outgoing: { n: number; change: Change }[] = [];
  let count = 0;
  worker.on("message", (answers: { n: number; result: CommitResult }[]) => {
    for (const { n, result } of answers) {
      waiting.get(n)?.(result);
      waiting.delete(n);
    }
  });
  const send = (): void => {
    worker.postMessage(outgoing);
    outgoing = [];
  };
  return {
    store: {
      agentByKey: async () => undefined,
      commit: (change) =>
        new Promise((resolve) => {
          const n = count++;
          waiting.set(n, resolve);
          if (outgoing.length === 0) setImmediate(send);
          outgoing.push({ n, change });
        }),
    },
    async close() {
      worker.postMessage("close");
      await new Promise((resolve) => worker.once("exit", resolve));
    },
  };
}

interface Measured {
  readonly rate: number[];
  readonly busy: number[];
  readonly p99: number[];
}

async function measure(
  run: (messages: number) => Promise<{ ms: number; messageMs: readonly number[] }>,
  into: Measured,
): Promise<void> {
  const before = performance.eventLoopUtilization();
  const { ms, messageMs } = await run(MESSAGES);
  const used = performance.eventLoopUtilization(before);
  into.rate.push((MESSAGES / ms) * 1_000);
  into.busy.push((used.active * 1_000) / MESSAGES);
  into.p99.push(percentile(messageMs, 0.99));
}

const root = mkdtempSync(join(tmpdir(), "rookery-thread-"));
try {
  const home = (name: string): string => mkdtempSync(join(root, name));
  const main = openSqliteStore({ home: home("main") });
  const thread = openThreadStore(home("thread"));
  const agents = spread(WRITERS, WRITERS);
  const onMain = await storeWriters(main, agents);
  const onThread = await storeWriters(thread.store as Store, agents);
  await onMain.run(MESSAGES);
  await onThread.run(MESSAGES);
  const mine: Measured = { rate: [], busy: [], p99: [] };
  const theirs: Measured = { rate: [], busy: [], p99: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await measure(onMain.run, mine);
    await measure(onThread.run, theirs);
  }
  await main.close();
  await thread.close();
  for (const [name, measured] of [
    ["main thread", mine],
    ["writer thread", theirs],
  ] as const) {
    console.log(
      `${name.padEnd(14)} ${Math.round(median(measured.rate))} messages/s, main thread busy ` +
        `${median(measured.busy).toFixed(1)} µs per message, p99 ${median(measured.p99).toFixed(1)} ms`,
    );
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
