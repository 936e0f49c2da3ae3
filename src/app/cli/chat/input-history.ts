/** What the person typed, across starts: a file of JSON lines in the home, readable by its owner only. Bounded. */
import { appendFileSync, chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const KEPT = 500;
const MAX_FILE = 4 * 1024 * 1024;
const MAX_ENTRY = 20_000;
const FILE_MODE = 0o600;

export class InputHistory {
  readonly #file: string;
  #entries: string[];
  #lines: number;

  constructor(file: string) {
    this.#file = file;
    const lines = readLines(file);
    this.#lines = lines.length;
    this.#entries = lines.slice(-KEPT);
  }

  /** Oldest first. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  /** Kept for the next start, if the file can be written. A chat works without it. */
  add(text: string): void {
    if (text.trim() === "" || text.length > MAX_ENTRY || text === this.#entries.at(-1)) return;
    this.#entries = [...this.#entries, text].slice(-KEPT);
    try {
      if (this.#lines >= 2 * KEPT) this.#rewrite();
      else appendFileSync(this.#file, `${JSON.stringify(text)}\n`, { mode: FILE_MODE });
      this.#lines += 1;
    } catch {
      // A home that cannot be written now.
    }
  }

  #rewrite(): void {
    const copy = `${this.#file}.tmp`;
    writeFileSync(copy, this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: FILE_MODE });
    chmodSync(copy, FILE_MODE);
    renameSync(copy, this.#file);
    this.#lines = this.#entries.length;
  }
}

/** A line that is broken, for example by a crash, is left out. */
function readLines(file: string): readonly string[] {
  let text = "";
  try {
    text = readFileSync(file, "utf8").slice(-MAX_FILE);
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    try {
      const entry: unknown = line === "" ? undefined : JSON.parse(line);
      return typeof entry === "string" ? [entry] : [];
    } catch {
      return [];
    }
  });
}
