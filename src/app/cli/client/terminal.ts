/**
 * `rookery send` beside a running engine: sends what the person types to it, and prints the replies in the order of the texts. A
 * text has a key, so it may be sent again: if the engine is killed, the terminal waits until it is back and gets the answer.
 */
import { unansweredText, waitsForEarlierLines } from "../../../adapters/connectors/stdin/line-end.ts";
import { allOf, linesOf, STDIN_CHANNEL } from "../../../adapters/connectors/stdin/stdin-connector.ts";
import { commandsOn } from "../../../config/commands-on.ts";
import { RookeryError } from "../../../core/errors.ts";
import { ApiError, ConnectionLostError } from "../../client/api.ts";
import { EngineApi, pathOf } from "../../client/engine-api.ts";
import type { Transport } from "../../client/transport.ts";
import type { CommandContext } from "../command.ts";

interface TerminalOptions {
  readonly user: string;
  /** Send each line as its own message. */
  readonly lines: boolean;
  readonly transport: Transport;
  /** Finds the engine again after it was lost. Rejects if it does not come back. */
  readonly reconnect: () => Promise<Transport>;
  /** Ends the terminal. What was sent stays sent. */
  readonly signal: AbortSignal;
}

interface Sent {
  readonly agentId: string;
  readonly seq: number;
}

interface Replies {
  readonly settled: boolean;
  readonly runId: string | null;
  readonly replies: readonly { readonly text: string; readonly isError: boolean }[];
  readonly unanswered: { readonly reason: string; readonly failed: boolean } | null;
}

/** What an agent has said to this terminal on its own. */
interface Waiting {
  readonly items: readonly { readonly id: string; readonly text?: string; readonly isError?: boolean }[];
}

const WAIT_SECONDS = 30;
/** How often an open terminal looks for what agents say on their own. */
const LOOK_MS = 2_000;
const BUSY_MS = 200;

interface TerminalEnd {
  /** Replies that are errors, and texts without a reply that failed. */
  readonly failures: number;
  /** Texts without a reply yet: the terminal was ended by its signal. */
  readonly unanswered: number;
}

export async function runTerminal(context: CommandContext, options: TerminalOptions): Promise<TerminalEnd> {
  const { stdout, stderr, stdin } = context;
  const { user, lines, signal } = options;
  const api = lastingApi(options, (text) => stderr.write(`rookery: ${text}\n`));
  const printedRuns = new Set<string>();
  let [failures, unanswered] = [0, 0];
  let printing: Promise<void> = Promise.resolve();
  const print = async ({ agentId, seq }: Sent, line: number): Promise<void> => {
    const path = pathOf("api", "terminal", "messages", agentId, seq);
    let answer: Replies | undefined;
    while (!answer?.settled && !signal.aborted) answer = await api.get<Replies>(path, { waitSeconds: WAIT_SECONDS });
    if (!answer?.settled) return;
    unanswered -= 1;
    // Messages that were answered together have one answer.
    if (answer.runId !== null && printedRuns.has(answer.runId)) return;
    if (answer.runId !== null) printedRuns.add(answer.runId);
    if (answer.unanswered) {
      if (answer.unanswered.failed) failures += 1;
      stderr.write(unansweredText(lines ? line : undefined, answer.unanswered.reason));
    }
    for (const { text, isError } of answer.replies) {
      if (isError) failures += 1;
      (isError ? stderr : stdout).write(`${text}\n`);
    }
  };
  // Shown and then acknowledged: what a killed terminal has not shown is shown by the next one.
  const look = async (): Promise<void> => {
    const { items } = await api.get<Waiting>("/api/deliveries", { terminal: user });
    if (items.length === 0) return;
    for (const { text = "", isError } of items) (isError ? stderr : stdout).write(`${text}\n`);
    await api.post("/api/deliveries/ack", { ids: items.map(({ id }) => id), terminal: user });
  };
  const lookAgain = setInterval(() => {
    printing = printing.then(look);
    printing.catch(() => undefined);
  }, LOOK_MS);
  printing = look();
  const input = stdin();
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const work = async (): Promise<void> => {
    const { commands } = (await context.loadConfig()).config;
    const reading = { on: commandsOn(commands, STDIN_CHANNEL) };
    let count = 0;
    for await (const text of lines ? linesOf(input) : [await allOf(input)]) {
      count += 1;
      const line = count;
      if (signal.aborted) return;
      if (text.trim() === "") continue;
      if (waitsForEarlierLines(text, reading)) await printing;
      const body = { user, text: text.trim(), line: lines || undefined };
      const { messages } = await api.post<{ messages: readonly Sent[] }>("/api/terminal/messages", body);
      unanswered += messages.length;
      for (const sent of messages) printing = printing.then(() => print(sent, line));
      printing.catch(() => undefined);
    }
    await printing;
    await look();
  };
  try {
    await Promise.race([work(), stopped]);
  } finally {
    clearInterval(lookAgain);
    (input as { destroy?: () => void }).destroy?.();
  }
  return { failures, unanswered };
}

/** The client of an engine, which sends each request until it is answered: again after the engine was lost, or is busy. */
function lastingApi({ transport, reconnect, signal }: TerminalOptions, say: (text: string) => void): EngineApi {
  let current = transport;
  let isLost = false;
  const lasting: Transport = async (request) => {
    const response = await current(request);
    if (isLost && response.status < 500) {
      say("the engine is back.");
      isLost = false;
    }
    return response;
  };
  return new EngineApi(lasting, signal, async (error) => {
    if (error instanceof ConnectionLostError || isStopping(error)) {
      if (!isLost) say("the engine stopped. Waiting until it is back; the message is not lost.");
      isLost = true;
      current = await reconnect();
      return true;
    }
    if (!(error instanceof RookeryError) || !error.retryable) return false;
    await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
    return true;
  });
}

const isStopping = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === "restarting" || error.code === "store_closed");
