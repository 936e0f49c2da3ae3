/**
 * Checks gates: runs a command and reads its exit code, or requests an address and reads its status. Time and output are
 * bounded, and the command's process group is killed at its end. Any failure means that the gate does not pass.
 */
import { errorText } from "../../core/errors.ts";
import type { GateRunner, GateVerdict } from "../../core/ports/gate-runner.ts";
import type { Gate } from "../../core/schedule/job.ts";
import type { OutgoingHttp } from "./outgoing-http.ts";

interface GateRunnerOptions {
  /** Whether commands may run at all. The owner allows it in the configuration. */
  commands(): boolean;
  readonly http: OutgoingHttp;
  /** The working directory of commands that name none. */
  readonly cwd: string;
}

const DEFAULT_GATE_TIMEOUT_MS = 30_000;
const MAX_GATE_OUTPUT = 8_000;
/** How long a process that has left the group of its command may keep the output open. */
const OUTPUT_MS = 1_000;

export const gateRunner = (options: GateRunnerOptions): GateRunner => ({
  async check(gate, signal) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(gate.timeoutMs ?? DEFAULT_GATE_TIMEOUT_MS)]);
    try {
      return gate.kind === "http"
        ? await checkAddress(gate, options.http, limit)
        : await runCommand(gate, options, limit);
    } catch (error) {
      return { pass: false, reason: limit.aborted ? "took too long" : errorText(error) };
    }
  },
});

async function checkAddress(
  { url, headers }: Extract<Gate, { kind: "http" }>,
  http: OutgoingHttp,
  signal: AbortSignal,
): Promise<GateVerdict> {
  // A redirect is not followed: only the address of the gate may be requested.
  const { status, body } = await http({ url, headers, signal, maxBytes: MAX_GATE_OUTPUT });
  // 204 means: reachable, but nothing to do.
  if (status === 204) return { pass: false, reason: "nothing to do (204)" };
  return status >= 200 && status < 300
    ? { pass: true, output: new TextDecoder().decode(body).trim() }
    : { pass: false, reason: `answered ${status}` };
}

function runCommand(
  gate: Extract<Gate, { kind: "command" }>,
  { commands, cwd }: GateRunnerOptions,
  signal: AbortSignal,
): Promise<GateVerdict> {
  if (!commands()) return Promise.resolve({ pass: false, reason: "commands are not allowed (cron.commandGates)" });
  return new Promise((resolve) => {
    // A command gets only what it needs: the environment of this process may hold keys.
    const { PATH, HOME, LANG, TZ } = process.env;
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn("/bin/sh", ["-c", gate.command], {
      cwd: gate.cwd ?? cwd,
      env: { PATH, HOME, LANG, TZ, ...gate.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    const keep = (text: string): void => {
      if (output.length < MAX_GATE_OUTPUT) output += text;
    };
    // A character may come in two pieces.
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has already ended.
      }
    };
    signal.addEventListener("abort", end, { once: true });
    let late: NodeJS.Timeout | undefined;
    const settle = (verdict: GateVerdict): void => {
      clearTimeout(late);
      signal.removeEventListener("abort", end);
      resolve(verdict);
    };
    child.on("error", (error) => settle({ pass: false, reason: errorText(error) }));
    child.on("exit", () => {
      // A background process would keep the output open.
      end();
      late = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, OUTPUT_MS);
    });
    // All of the output is read: at the exit a part of it may still be on its way.
    child.on("close", (code) => {
      const text = output.slice(0, MAX_GATE_OUTPUT).trim();
      if (signal.aborted) return settle({ pass: false, reason: "took too long" });
      settle(
        code === 0
          ? { pass: true, output: text }
          : { pass: false, reason: `exit code ${code}${text ? `: ${text.slice(0, 200)}` : ""}` },
      );
    });
  });
}
