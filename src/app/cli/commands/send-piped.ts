/**
 * `rookery send` without flags: sends piped text, prints the answers, and exits when everything is delivered. It uses the engine
 * that runs on the home; without one it is the engine, and other commands use it.
 */
import { HomeLockedError, TimeoutError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import type { Transport } from "../../client/transport.ts";
import { findEngine, hasSocket } from "../../gateway/control/find-engine.ts";
import type { CommandContext, Flags } from "../command.ts";
import { printResult } from "../print.ts";
import type { SEND_OPTIONS } from "./send.ts";

type RunContext = CommandContext<typeof SEND_OPTIONS>;

/** How long to wait for a process that holds the home and does not answer yet. */
const STARTING_MS = 5_000;
/** How long to wait for an engine that was killed, and for one that was stopped: its socket is gone. */
const KILLED_MS = 60_000;
const STOPPED_MS = 10_000;
const RETRY_MS = 100;

/** A text on the command line takes the place of standard input, which is not read then. */
export async function sendPiped(given: RunContext, text: string): Promise<number> {
  const replies: { readonly text: string }[] = [];
  const collected = { write: (reply: string) => replies.push({ text: reply.replace(/\n$/u, "") }) };
  const stdin = text.trim() === "" ? given.stdin : () => only(text);
  const code = await answered({ ...given, stdin, stdout: given.json ? collected : given.stdout });
  if (given.json) printResult(given, listOf(replies), "");
  return code;
}

async function* only(text: string): AsyncGenerator<string> {
  yield text;
}

async function answered(context: RunContext): Promise<number> {
  const until = performance.now() + STARTING_MS;
  for (;;) {
    const transport = await findEngine(context.home);
    if (transport) return runBeside(context, transport);
    try {
      return await runAlone(context);
    } catch (error) {
      if (!(error instanceof HomeLockedError) || performance.now() >= until) throw error;
      await pause();
    }
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, RETRY_MS));

async function runAlone(context: RunContext): Promise<number> {
  const { runHere } = await import("../client/run-here.ts");
  const { flags } = context;
  return runHere(context, { user: userOf(flags), lines: flags.lines ?? false });
}

async function runBeside(context: RunContext, transport: Transport): Promise<number> {
  const { runTerminal } = await import("../client/terminal.ts");
  const { flags, home, stderr } = context;
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once("SIGTERM", onSignal);
  process.once("SIGINT", onSignal);
  try {
    const options = { user: userOf(flags), lines: flags.lines ?? false, transport, signal: stop.signal };
    const ended = await runTerminal(context, { ...options, reconnect: () => engineIn(home, stop.signal) });
    if (ended.unanswered > 0) stderr.write("rookery: the engine still answers; see `rookery sessions show`.\n");
    return ended.failures > 0 ? 1 : 0;
  } finally {
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  }
}

async function engineIn(home: string, signal: AbortSignal): Promise<Transport> {
  const lostAt = performance.now();
  while (!signal.aborted && performance.now() - lostAt < (hasSocket(home) ? KILLED_MS : STOPPED_MS)) {
    const transport = await findEngine(home);
    if (transport) return transport;
    await pause();
  }
  throw new TimeoutError("The engine stopped and did not come back.", {
    hint: "What was accepted is not lost: start `rookery serve`, then see the answer with `rookery sessions show`.",
  });
}

const userOf = ({ user }: Flags<typeof SEND_OPTIONS>): string => user ?? "owner";
