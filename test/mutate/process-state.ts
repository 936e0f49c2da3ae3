/** The switches of a process that runs tests, and the state of the mutants according to the journals of all processes. */
import { appendFileSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { Control } from "./control.ts";
import { type Batch, follow, type JournalLine, type Kind, kindOf } from "./journal.ts";

const KEY = "rookeryState";
const append = appendFileSync;

/** Files of one worker share their modules, so they share the switches too. */
export function stateOfProcess(): ProcessState {
  const world = globalThis as typeof globalThis & { [KEY]?: ProcessState };
  world[KEY] ??= new ProcessState();
  return world[KEY];
}

export class ProcessState {
  active = -1;
  /** An unhandled rejection happened. `npm test` fails then, too. */
  hasStray = false;
  readonly #batch = JSON.parse(readFileSync(process.env.ROOKERY_MUTANTS ?? "", "utf8")) as Batch;
  readonly #journal = process.env.ROOKERY_JOURNAL ?? "";
  readonly #followed = (process.env.ROOKERY_JOURNALS ?? this.#journal).split(":").map(follow);
  readonly #control = new Control(process.env.ROOKERY_CONTROL ?? "");
  readonly #met = new Set<number>();
  readonly #constants = new Map<number, (on: boolean) => void>();
  /** Milliseconds spent on each open mutant, by the kind of test. */
  readonly #open = new Map(this.#batch.numbers.map((number) => [number, new Map<Kind, number>()]));

  /** A process that continues after one that hung does not repeat what that one did. */
  readonly #tried = new Set<string>();

  constructor() {
    process.on("unhandledRejection", () => {
      this.hasStray = true;
    });
    Object.assign(globalThis, {
      rookerySwitch: (number: number): boolean => {
        if (number === this.active) return true;
        this.#met.add(number);
        return false;
      },
      rookeryTouch: (numbers: readonly number[]): void => {
        for (const number of numbers) this.#met.add(number);
      },
      rookeryConstant: (numbers: readonly number[], assign: (on: boolean) => void): void => {
        for (const number of numbers) this.#constants.set(number, assign);
      },
    });
  }

  /** Turns a mutant on, or none (-1). */
  begin(number: number): void {
    this.hasStray = false;
    this.#met.clear();
    this.active = number;
    this.#constants.get(number)?.(true);
    this.#control.begin(number);
  }

  /** Turns it off; the mutants that the test and its processes met. */
  end(): readonly number[] {
    const met = [...new Set([...this.#met, ...this.#control.met()])];
    this.#constants.get(this.active)?.(false);
    this.active = -1;
    this.#control.begin(-1);
    return met;
  }

  note(line: JournalLine): void {
    append(this.#journal, `${JSON.stringify(line)}\n`);
  }

  spend(file: string, test: string, number: number, ms: number): void {
    this.note({ tried: number, kind: this.#kindFor(file, number), ms: Math.round(ms), test });
  }

  /** Those of the mutants that are open and that this test has not tried, as far as their budget goes. */
  openFor(file: string, test: string, met: readonly number[]): number[] {
    for (const line of this.#followed.flatMap((read) => read())) this.#learn(line);
    return met.filter((number) => {
      const kind = this.#kindFor(file, number);
      const spent = this.#open.get(number)?.get(kind) ?? 0;
      const isNew = !this.#tried.has(`${test} ${number}`);
      return isNew && this.#open.has(number) && spent < this.#batch.budgets[kind];
    });
  }

  #learn(line: JournalLine): void {
    if ("found" in line) this.#open.delete(line.found);
    if ("hung" in line) this.#open.delete(line.hung);
    if (!("tried" in line)) return;
    this.#tried.add(`${line.test} ${line.tried}`);
    const spent = this.#open.get(line.tried);
    spent?.set(line.kind, (spent.get(line.kind) ?? 0) + line.ms);
  }

  #kindFor(file: string, number: number): Kind {
    return this.#batch.near[dirname(file)]?.includes(number) ? "near" : kindOf(file);
  }
}
