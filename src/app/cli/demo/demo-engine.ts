/** A real engine in a process of its own, on a scratch home, with the offline model. The demo kills it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { FILE_MODE } from "../../../config/paths.ts";
import { ConfigError, errorText, TimeoutError } from "../../../core/errors.ts";
import { EngineApi } from "../../client/engine-api.ts";
import { findEngine } from "../../gateway/control/find-engine.ts";
import { homeTransport } from "../../gateway/control/home-transport.ts";

/**
 * Of one agent. A call that a kill cuts off counts with all it had reserved, which is an answer of 16,384 tokens: the conversation
 * that is killed must have room for that, and only the long text must not fit.
 */
export const AGENT_TOKENS = 80_000;
const CONFIG = {
  models: { default: "offline" },
  queue: { mode: "collect", debounceMs: 400 },
  budgets: { agent: { tokens: AGENT_TOKENS } },
};
const START_MS = 60_000;
const LOOK_MS = 50;

export class DemoEngine {
  readonly home = scratchHome();
  readonly api = new EngineApi(homeTransport(this.home));
  readonly #file: string;
  #process: ChildProcess | undefined;

  /** `file`: the program of this command. */
  constructor(file: string) {
    this.#file = file;
    writeFileSync(join(this.home, "rookery.json5"), JSON.stringify(CONFIG), { mode: FILE_MODE });
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async start(): Promise<void> {
    const args = [...process.execArgv, this.#file, "serve", "--port", "0", "--home", this.home];
    // No key of the person is used: the demo never leaves this computer.
    const env = {
      PATH: process.env.PATH,
      HOME: this.home,
      TMPDIR: process.env.TMPDIR,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    };
    this.#process = spawn(process.execPath, args, { stdio: "ignore", env });
    const until = performance.now() + START_MS;
    while (!(await findEngine(this.home))) {
      if (this.#process.exitCode !== null) {
        throw new ConfigError(`The engine of the demo ended at once, with code ${this.#process.exitCode}.`, {
          hint: "`rookery doctor` says what is wrong here.",
        });
      }
      if (performance.now() > until) throw new TimeoutError("The engine of the demo did not start.");
      await pause(LOOK_MS);
    }
  }

  /** `kill -9`: the process gets no chance to do anything. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#process ?? {};
    if (!this.#process || exitCode !== null || signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.home, { recursive: true, force: true });
  }
}

function scratchHome(): string {
  try {
    return mkdtempSync(join(tmpdir(), "rookery-demo-"));
  } catch (cause) {
    throw new ConfigError(`The demo cannot make its scratch home in ${tmpdir()}: ${errorText(cause)}`, {
      cause,
      hint: "Set TMPDIR to a directory that you may write to.",
    });
  }
}
