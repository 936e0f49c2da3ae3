/**
 * A program in a real pseudo-terminal, and the screen it draws. Tests wait until the screen satisfies a predicate; they never
 * sleep. A wait that takes too long fails with the screen.
 */
import { fileURLToPath } from "node:url";
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

export interface TerminalOptions {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cols?: number;
  readonly rows?: number;
  readonly cwd?: string;
  /** Default: this Node. */
  readonly file?: string;
}

/** Only a test that fails waits so long: a busy machine does not fail it. */
const WAIT_MS = 60_000;
export const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export const KEYS = {
  enter: "\r",
  escape: "\u001b",
  up: "\u001b[A",
  down: "\u001b[B",
  right: "\u001b[C",
  left: "\u001b[D",
  tab: "\t",
  pageUp: "\u001b[5~",
  pageDown: "\u001b[6~",
  ctrlC: "\u0003",
  ctrlD: "\u0004",
  ctrlF: "\u0006",
  newLine: "\n",
  backspace: "\u007f",
} as const;

export class TestTerminal {
  readonly pty: IPty;
  readonly terminal: xterm.Terminal;
  readonly exited: Promise<number>;
  readonly startedAt = performance.now();
  /** Everything the program wrote. */
  written = "";
  readonly #watchers = new Set<() => void>();

  constructor({ args, env = {}, cols = 80, rows = 24, cwd, file = process.execPath }: TerminalOptions) {
    this.terminal = new xterm.Terminal({ cols, rows, allowProposedApi: true, scrollback: 10_000 });
    const given = { ...process.env, TERM: "xterm-256color", COLORTERM: "", NO_COLOR: undefined, ...env };
    const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    this.pty = spawn(file, [...args], {
      cols,
      rows,
      cwd,
      name: "xterm-256color",
      env: defined as Record<string, string>,
    });
    this.terminal.onData((data) => this.pty.write(data));
    this.pty.onData((data) => {
      this.written += data;
      this.terminal.write(data, () => {
        for (const watch of [...this.#watchers]) watch();
      });
    });
    this.exited = new Promise((resolve) => this.pty.onExit(({ exitCode }) => resolve(exitCode)));
  }

  /** The rows of the screen, without the spaces at their ends. */
  screen(): readonly string[] {
    const { buffer, rows } = this.terminal;
    const first = buffer.active.viewportY;
    return Array.from({ length: rows }, (_, row) => buffer.active.getLine(first + row)?.translateToString(true) ?? "");
  }

  get text(): string {
    return this.screen().join("\n");
  }

  /** Resolves with the text of the screen when it satisfies the predicate. */
  async until(what: string | RegExp | ((text: string) => boolean), waitMs = WAIT_MS): Promise<string> {
    const fits = (): boolean => {
      const { text } = this;
      return typeof what === "function" ? what(text) : typeof what === "string" ? text.includes(what) : what.test(text);
    };
    if (fits()) return this.text;
    const found = Promise.withResolvers<void>();
    const watch = (): void => {
      if (fits()) found.resolve();
    };
    this.#watchers.add(watch);
    const timer = setTimeout(
      () => found.reject(new Error(`Waited for ${String(what)}. The screen:\n${this.text}`)),
      waitMs,
    );
    try {
      await found.promise;
      return this.text;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watch);
    }
  }

  type(text: string): void {
    this.pty.write(text);
  }

  /** Types a message and sends it. */
  say(text: string): void {
    this.pty.write(`${text}${KEYS.enter}`);
  }

  paste(text: string): void {
    this.pty.write(`\u001b[200~${text}\u001b[201~`);
  }

  resize(cols: number, rows: number): void {
    this.terminal.resize(cols, rows);
    this.pty.resize(cols, rows);
  }

  /** Ends the program if it still runs. */
  async close(): Promise<void> {
    try {
      this.pty.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.exited;
    this.terminal.dispose();
  }
}
