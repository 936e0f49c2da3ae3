/**
 * Runs each test once as it is, and then once for every open mutant that it met, with that mutant switched on. A failure
 * counts if the test passes again without the mutant. The journal says what happened, so that the next process continues.
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite, TestRunner } from "vitest";
import { ownTime } from "./own-time.ts";
import { stateOfProcess } from "./process-state.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Real timers, before a test replaces them. */
const later = globalThis.setTimeout.bind(globalThis);
const cancel = globalThis.clearTimeout.bind(globalThis);
const soon = globalThis.setImmediate.bind(globalThis);
const LIMIT_MS = 3000;
const LIMIT_FACTOR = 12;

interface Attempt {
  phase: "without" | "with" | "after";
  began: number;
  milliseconds: number;
  queue: number[];
  more: boolean;
}

const state = stateOfProcess();

export default class MutationRunner extends TestRunner {
  /** Without mutants, in this file. */
  private spent = { ms: 0, tests: 0, met: new Set<number>() };
  private readonly attempts = new WeakMap<RunnerTestCase, Attempt>();

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    const attempt: Attempt = { phase: "without", began: 0, milliseconds: 0, queue: [], more: false };
    this.attempts.set(test, attempt);
    if (test.retry === undefined || test.retry === 0)
      test.retry = { count: 1_000_000, condition: () => attempt.more } as never;
  }

  override async onBeforeTryTask(test: RunnerTestCase, options: never): Promise<void> {
    super.onBeforeTryTask(test, options);
    const attempt = this.attempts.get(test);
    if (!attempt) return;
    attempt.more = false;
    const number = attempt.phase === "with" ? (attempt.queue[0] ?? -1) : -1;
    if (number >= 0) state.note({ try: number, limitMs: limitOf(attempt), pid: process.pid });
    attempt.began = ownTime();
    state.begin(number);
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (state.active < 0) return void (await run());
    const attempt = this.attempts.get(test);
    const limit = attempt ? limitOf(attempt) : LIMIT_MS;
    const end = ownTime() + limit;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const check = (): void => {
        const left = end - ownTime();
        if (left <= 0) {
          // Vitest waits for every expectation that was not awaited; these never end.
          (test as { promises?: unknown[] }).promises = [];
          reject(new Error("The mutant takes too long."));
        } else timer = later(check, left + 1);
      };
      check();
    });
    try {
      await Promise.race([run(), late]);
    } finally {
      cancel(timer);
    }
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: never): Promise<void> {
    await super.onAfterRetryTask(test, options);
    const attempt = this.attempts.get(test);
    const result = test.result;
    if (!attempt || !result) return;
    // Node reports an unhandled rejection one turn later.
    await new Promise<void>((resolve) => soon(() => resolve()));
    const met = state.end();
    const spent = ownTime() - attempt.began;
    const passed = result.state === "pass" && !state.hasStray;
    if (attempt.phase === "without") {
      this.spent.ms += spent;
      this.spent.tests += 1;
      for (const number of met) this.spent.met.add(number);
      if (!passed || test.fails) return;
      attempt.milliseconds = spent;
      attempt.queue = state.openFor(relative(ROOT, test.file.filepath), test.id, met);
      attempt.phase = "with";
    } else this.judge(test, attempt, passed, spent);
    attempt.more = attempt.queue.length > 0;
    result.attempts = [];
    result.state = attempt.more ? "fail" : "pass";
    result.errors = attempt.more ? [{ message: "once more" } as never] : undefined;
  }

  private judge(test: RunnerTestCase, attempt: Attempt, passed: boolean, spent: number): void {
    const file = relative(ROOT, test.file.filepath);
    const number = attempt.queue[0] ?? -1;
    state.spend(file, test.id, number, spent);
    if (attempt.phase === "with") {
      if (passed) attempt.queue.shift();
      else attempt.phase = "after";
    } else if (passed) {
      state.note({ found: number, by: `${file}: ${test.name}` });
      attempt.queue.shift();
      attempt.phase = "with";
    } else {
      for (const each of attempt.queue) state.note({ unsure: each, by: file });
      attempt.queue = [];
    }
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite);
    if (!("filepath" in suite)) return;
    const { ms, tests, met } = this.spent;
    const file = relative(ROOT, (suite as RunnerTestFile).filepath);
    state.note({ file, testMs: ms / Math.max(1, tests), ms, met: [...met] });
    this.spent = { ms: 0, tests: 0, met: new Set() };
  }
}

function limitOf({ milliseconds }: Attempt): number {
  return LIMIT_MS + LIMIT_FACTOR * milliseconds;
}
