/**
 * Runs ripgrep: its engine is linear on every pattern. Time and output are bounded, it reads no configuration, and arguments of a
 * model are passed as values, never as options.
 */
import { spawn } from "node:child_process";
import { InvalidInputError } from "../../../core/errors.ts";

interface RipgrepRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** It is stopped when this much was read. */
  readonly maxBytes: number;
}

interface RipgrepOutput {
  readonly text: string;
  /** There was more, or it took too long. */
  readonly isCut: boolean;
}

const TIMEOUT_MS = 20_000;
const OWN = ["--no-config", "--color=never", "--no-messages", "--hidden", "--glob=!.git", "--sort=path", "--threads=2"];

export async function runRipgrep({ args, cwd, signal, maxBytes }: RipgrepRun): Promise<RipgrepOutput> {
  const { rgPath } = await import("@vscode/ripgrep");
  return new Promise((resolve, reject) => {
    const child = spawn(rgPath, [...OWN, ...args], { cwd, env: {}, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    let size = 0;
    let problem = "";
    let isCut = false;
    const stop = (): void => {
      isCut = true;
      child.kill("SIGKILL");
    };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    limit.addEventListener("abort", stop, { once: true });
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) stop();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (problem.length < 1_000) problem += chunk.toString("utf8");
    });
    child.on("error", reject);
    child.on("close", (code) => {
      limit.removeEventListener("abort", stop);
      // 1: nothing was found.
      if (!isCut && code === 2 && problem !== "")
        return reject(new InvalidInputError(`Not a pattern: ${problem.trim().slice(0, 500)}`));
      resolve({ text: Buffer.concat(chunks).subarray(0, maxBytes).toString("utf8"), isCut });
    });
  });
}
