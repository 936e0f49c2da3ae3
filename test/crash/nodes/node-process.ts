/** One real node in its own process behind its own proxy, which tests kill, pause, cut off and start again. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { WireProxy } from "../../postgres/proxy.ts";
import type { FromChild, ToChild } from "../engine/wire.ts";
import type { Hand } from "./people.ts";

const CHILD = new URL("../engine/child.ts", import.meta.url);

export class NodeProcess implements Hand {
  readonly name: string;
  readonly proxy: WireProxy;
  readonly #args: readonly string[];
  readonly #heard: (said: FromChild) => void;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #up = false;
  paused = false;
  errors = "";
  /** Set if the process died without being killed: its last output. */
  problem: string | undefined;
  #killing = false;

  constructor(name: string, proxy: WireProxy, args: readonly string[], heard: (said: FromChild) => void) {
    this.name = name;
    this.proxy = proxy;
    this.#args = args;
    this.#heard = heard;
  }

  get living(): boolean {
    return this.#up && this.#child !== undefined && !this.paused;
  }
  get started(): boolean {
    return this.#child !== undefined;
  }
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  tell(said: ToChild): void {
    this.#child?.stdin.write(`${JSON.stringify(said)}\n`);
  }

  /** Resolves when the process is up, or has died during the start. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [fileURLToPath(CHILD), ...this.#args], { stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    this.#killing = false;
    this.errors = "";
    child.stdin.on("error", () => {});
    child.stderr.on("data", (text: Buffer) => {
      this.errors = (this.errors + text.toString()).slice(-4_000);
    });
    const up = Promise.withResolvers<void>();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line) as FromChild;
      if (said.say === "up") {
        this.#up = true;
        up.resolve();
      }
      this.#heard(said);
    });
    child.on("exit", (code, signal) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#up = false;
      if (!this.#killing && code !== 0)
        this.problem = `${this.name} ended without being killed (${signal ?? code}): ${this.errors}`;
      up.resolve();
    });
    await up.promise;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#killing = true;
    this.paused = false;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  pause(): void {
    this.paused = true;
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
    this.paused = false;
  }

  /** Asks the process to shut down, as an operator does, and waits for its end. */
  async end(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#killing = true;
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    await gone;
  }
}
