/**
 * Runs each test once as it is, and then once for every open mutant that it met, with that mutant switched on. A failure
 * counts if the test passes again without the mutant. The journal says what happened, so that the next process continues.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite, TestRunner } from "vitest";
import { type Batch, type JournalLine, linesOf } from "./journal.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Real timers, before a test replaces them. */
const later = globalThis.setTimeout.bind(globalThis);
const cancel = globalThis.clearTimeout.bind(globalThis);
const LIMIT_MS = 4000;
const LIMIT_FACTOR = 12;

interface State {
  active: number;
  readonly met: Set<number>;
  readonly open: Map<number, number>;
  readonly constants: Map<number, (on: boolean) => void>;
}

interface Attempt {
  phase: "without" | "with" | "after";
  began: number;
  milliseconds: number;
  queue: number[];
  more: boolean;
}

const batch = JSON.parse(readFileSync(process.env.ROOKERY_MUTANTS ?? "", "utf8")) as Batch;
const journal = process.env.ROOKERY_JOURNAL ?? "";
const state = stateOfProcess();

/** Files of one worker share their modules, so they share the switches too. */
function stateOfProcess(): State {
  const world = globalThis as typeof globalThis & { rookeryState?: State };
  if (world.rookeryState) return world.rookeryState;
  const open = new Map(batch.numbers.map((number) => [number, 0]));
  for (const line of linesOf(journal)) if ("found" in line || "hung" in line) open.delete(numberIn(line));
  const fresh: State = { active: -1, met: new Set(), open, constants: new Map() };
  Object.assign(world, {
    rookeryState: fresh,
    rookerySwitch(number: number): boolean {
      if (number === fresh.active) return true;
      fresh.met.add(number);
      return false;
    },
    rookeryTouch(numbers: readonly number[]): void {
      for (const number of numbers) fresh.met.add(number);
    },
    rookeryConstant(numbers: readonly number[], assign: (on: boolean) => void): void {
      for (const number of numbers) fresh.constants.set(number, assign);
    },
  });
  return fresh;
}

function numberIn(line: JournalLine): number {
  if ("found" in line) return line.found;
  return "hung" in line ? line.hung : -1;
}

function note(line: JournalLine): void {
  appendFileSync(journal, `${JSON.stringify(line)}\n`);
}

export default class MutationRunner extends TestRunner {
  /** Without mutants, in this file. */
  private spent = { ms: 0, tests: 0 };
  private readonly attempts = new WeakMap<RunnerTestCase, Attempt>();

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    const attempt: Attempt = { phase: "without", began: 0, milliseconds: 0, queue: [], more: false };
    this.attempts.set(test, attempt);
    if (test.retry === undefined || test.retry === 0)
      test.retry = { count: 1_000_000, condition: () => attempt.more } as never;
  }

  override onBeforeTryTask(test: RunnerTestCase, options: never): void {
    super.onBeforeTryTask(test, options);
    const attempt = this.attempts.get(test);
    if (!attempt) return;
    attempt.began = performance.now();
    attempt.more = false;
    state.met.clear();
    const [number] = attempt.queue;
    if (attempt.phase !== "with" || number === undefined) return;
    note({ try: number, limitMs: limitOf(attempt) });
    state.active = number;
    state.constants.get(number)?.(true);
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (state.active < 0) return void (await run());
    const attempt = this.attempts.get(test);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      timer = later(() => reject(new Error("The mutant takes too long.")), attempt ? limitOf(attempt) : LIMIT_MS);
    });
    try {
      await Promise.race([run(), limit]);
    } finally {
      cancel(timer);
    }
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: never): Promise<void> {
    await super.onAfterRetryTask(test, options);
    const attempt = this.attempts.get(test);
    const result = test.result;
    if (!attempt || !result) return;
    state.constants.get(state.active)?.(false);
    state.active = -1;
    const spent = performance.now() - attempt.began;
    const passed = result.state === "pass";
    if (attempt.phase === "without") {
      this.spent = { ms: this.spent.ms + spent, tests: this.spent.tests + 1 };
      if (!passed || test.fails) return;
      attempt.milliseconds = spent;
      attempt.queue = this.openFor(test);
      attempt.phase = "with";
    } else {
      const number = attempt.queue[0] ?? -1;
      state.open.set(number, (state.open.get(number) ?? 0) + spent);
      if (attempt.phase === "with") {
        note({ tried: number });
        if (passed) attempt.queue.shift();
        else attempt.phase = "after";
      } else if (passed) {
        note({ found: number, by: nameOf(test) });
        state.open.delete(number);
        attempt.queue.shift();
        attempt.phase = "with";
      } else {
        note({ unsure: number, by: nameOf(test) });
        attempt.queue = [];
      }
    }
    attempt.more = attempt.queue.length > 0;
    result.attempts = [];
    result.state = attempt.more ? "fail" : "pass";
    result.errors = attempt.more ? [{ message: "once more" } as never] : undefined;
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite);
    if (!("filepath" in suite)) return;
    note({
      file: relative(ROOT, (suite as RunnerTestFile).filepath),
      testMs: this.spent.ms / Math.max(1, this.spent.tests),
    });
    this.spent = { ms: 0, tests: 0 };
  }

  /** The open mutants that this test met, as far as their budget goes; those of its own folder always. */
  private openFor(test: RunnerTestCase): number[] {
    const near = new Set(batch.near[dirname(relative(ROOT, test.file.filepath))]);
    return [...state.met].filter((number) => {
      const spent = state.open.get(number);
      return spent !== undefined && (near.has(number) || spent < batch.budgetMs);
    });
  }
}

function limitOf({ milliseconds }: Attempt): number {
  return LIMIT_MS + LIMIT_FACTOR * milliseconds;
}

function nameOf(test: RunnerTestCase): string {
  return `${relative(ROOT, test.file.filepath)}: ${test.name}`;
}
