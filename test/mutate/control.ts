/**
 * Which mutant is on, for the processes that a test starts: they read it from a file at every switch and write the mutants
 * that they meet to another. Each attempt has a number, so that nothing of the one before counts.
 */
import fs from "node:fs";
import { join } from "node:path";

// A test may replace the functions of the module.
const { closeSync, existsSync, openSync, readFileSync, readSync, writeFileSync, writeSync } = fs;

const BYTES = 8;

/** The side of the test. */
export class Control {
  readonly #directory: string;
  #attempt = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  begin(active: number): void {
    this.#attempt += 1;
    const bytes = Buffer.alloc(BYTES);
    bytes.writeInt32LE(active, 0);
    bytes.writeInt32LE(this.#attempt, 4);
    writeFileSync(join(this.#directory, "active"), bytes);
    writeFileSync(join(this.#directory, "met"), "");
  }

  /** Lists the mutants that the processes of this attempt met. */
  met(): readonly number[] {
    const path = join(this.#directory, "met");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
    return lines.flatMap((line) => {
      const [attempt, number] = line.split(" ").map(Number);
      return attempt === this.#attempt && number !== undefined ? [number] : [];
    });
  }
}

/** The side of a process that a test started: the functions that the switches call. */
export function followControl(directory: string): void {
  const path = join(directory, "active");
  if (!existsSync(path)) writeFileSync(path, Buffer.alloc(BYTES, 0xff));
  const file = openSync(path, "r");
  process.once("exit", () => closeSync(file));
  const bytes = Buffer.alloc(BYTES);
  const constants = new Map<number, (on: boolean) => void>();
  const met = new Set<number>();
  let active = -1;
  let attempt = -1;
  const refresh = (): void => {
    readSync(file, bytes, 0, BYTES, 0);
    const next = bytes.readInt32LE(0);
    if (bytes.readInt32LE(4) !== attempt) met.clear();
    attempt = bytes.readInt32LE(4);
    if (next === active) return;
    constants.get(active)?.(false);
    active = next;
    constants.get(active)?.(true);
  };
  const meet = (number: number): void => {
    if (met.has(number)) return;
    met.add(number);
    const out = openSync(join(directory, "met"), "a");
    writeSync(out, `${attempt} ${number}\n`);
    closeSync(out);
  };
  Object.assign(globalThis, {
    rookerySwitch(number: number): boolean {
      refresh();
      if (number === active) return true;
      meet(number);
      return false;
    },
    rookeryTouch(numbers: readonly number[]): void {
      refresh();
      for (const number of numbers) meet(number);
    },
    rookeryConstant(numbers: readonly number[], assign: (on: boolean) => void): void {
      for (const number of numbers) constants.set(number, assign);
      if (numbers.includes(active)) assign(true);
    },
  });
}
