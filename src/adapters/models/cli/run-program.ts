/** Runs a program with an input, and reads what it prints. Time and output are bounded; it ends with its whole group. */
import { spawn } from "node:child_process";
import { commandEnvironment } from "../../system/command-environment.ts";

interface Program {
  readonly argv: readonly string[];
  readonly input: string;
  /** Names of variables besides the usual ones. */
  readonly env: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ProgramEnd =
  | { readonly is: "ended"; readonly code: number; readonly output: string; readonly errors: string }
  | { readonly is: "missing"; readonly why: string; readonly output: string }
  | { readonly is: "late"; readonly output: string };

const MAX_OUTPUT = 4_000_000;
const MAX_ERRORS = 10_000;

export function runProgram({
  argv: [program = "", ...args],
  input,
  env,
  timeoutMs,
  signal,
}: Program): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: {
        ...commandEnvironment(process.env),
        ...Object.fromEntries(env.map((name) => [name, process.env[name] ?? ""])),
      },
      stdio: ["pipe", "pipe", "pipe"],
      // A directory without files: what is in the working directory of this program is not its business.
      cwd: "/",
      detached: true,
    });
    let isLate = false;
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has already ended.
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      kill();
    }, timeoutMs);
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    const output = collected(child.stdout, MAX_OUTPUT);
    const errors = collected(child.stderr, MAX_ERRORS);
    const end = (result: ProgramEnd): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      resolve(result);
    };
    child.on("error", (error) => end({ is: "missing", why: error.message, output: "" }));
    child.on("close", (code) => {
      kill();
      end(isLate ? { is: "late", output: "" } : { is: "ended", code: code ?? 137, output: output(), errors: errors() });
    });
    // A program may end without reading its input.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** What a stream has said, up to a limit. */
function collected(stream: NodeJS.ReadableStream, max: number): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    if (size >= max) return;
    chunks.push(chunk.subarray(0, max - size));
    size += chunk.length;
  });
  return () => Buffer.concat(chunks).toString("utf8").toWellFormed();
}
