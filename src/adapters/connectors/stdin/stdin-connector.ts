/**
 * Connects standard input and output: piped text is a message, and deliveries are printed. A pipe cannot confirm that a line
 * was read, so an answer that was being printed when the process died is listed as unconfirmed.
 */
import { randomUUID } from "node:crypto";
import { TooLargeError } from "../../../core/errors.ts";
import { ONE_RUN_EACH } from "../../../core/message/queue.ts";
import {
  type Connector,
  type ConnectorHost,
  type OutgoingDelivery,
  OWNERS_SEAT,
  type SendResult,
} from "../../../core/ports/connector.ts";
import { LONGEST_TEXT } from "../../../core/text-limits.ts";
import { type AcceptedLine, type LineEnd, unansweredText, waitsForEarlierLines } from "./line-end.ts";

export const STDIN_CHANNEL = "terminal";

interface StdinOptions {
  readonly input: AsyncIterable<string | Uint8Array>;
  readonly output: { write(text: string): unknown };
  readonly errors: { write(text: string): unknown };
  readonly user: string;
  /** Send each line as its own message, instead of the whole input as one. */
  readonly lines: boolean;
  /** How lines end. Absent: no line waits for another, and none is reported. */
  readonly ends?: LineEnds;
}

export interface LineEnds {
  /** Resolves when the line is settled. Rejects if this process stops first. */
  settled(line: AcceptedLine): Promise<unknown>;
  /** How the line ended, as far as it has. */
  read(line: AcceptedLine): Promise<LineEnd>;
}

export interface StdinConnector extends Connector {
  /** Resolves at the end of the input with the number of accepted messages. Rejects if a message is not accepted. */
  readonly finished: Promise<number>;
  /** The number of lines without an answer and of answers that were errors. */
  readonly failures: () => number;
  /** Writes every line that has no answer to the error stream. Call it when the work has ended. */
  report(): Promise<void>;
}

export function stdinConnector(options: StdinOptions): StdinConnector {
  const { input, output, errors, user, ends } = options;
  const { promise: finished, resolve, reject } = Promise.withResolvers<number>();
  let failures = 0;
  let stopped = false;
  let count = 0;
  /** Lines whose end was not reported yet. */
  const open: { readonly n: number; readonly line: AcceptedLine }[] = [];

  const report = async (): Promise<void> => {
    for (const { n, line } of open.splice(0)) {
      const end = await ends?.read(line);
      if (end?.kind !== "unanswered") continue;
      if (end.failed) failures += 1;
      errors.write(unansweredText(options.lines ? n : undefined, end.reason));
    }
  };

  const settleBefore = async (text: string, host: ConnectorHost): Promise<void> => {
    if (!ends || !waitsForEarlierLines(text, { on: host.reading?.().commands })) return;
    for (const { line } of open) await ends.settled(line);
    await report();
  };

  const read = async (host: ConnectorHost): Promise<number> => {
    let accepted = 0;
    for await (const text of options.lines ? linesOf(input) : [await allOf(input)]) {
      count += 1;
      if (stopped) break;
      if (text.trim() === "") continue;
      await settleBefore(text, host);
      if (stopped) break;
      const target = {
        connector: STDIN_CHANNEL,
        userId: user,
        channelId: user,
        delivery: { channel: STDIN_CHANNEL, to: user },
      };
      const messageId = randomUUID();
      // Each line gets its own answer, unless the conversation or the line says otherwise.
      const queueDefault = options.lines ? ONE_RUN_EACH : undefined;
      const line = await host.accept({ ...target, messageId, text, queueDefault });
      if ("agentId" in line) open.push({ n: count, line });
      accepted += 1;
    }
    return accepted;
  };

  return {
    name: STDIN_CHANNEL,
    [OWNERS_SEAT]: true,
    capabilities: { sendText: true },
    sendingClass: "ambiguous",
    finished,
    failures: () => failures,
    report,
    async start(host) {
      void read(host).then(resolve, (error) => (stopped ? resolve(0) : reject(error)));
    },
    async stop() {
      stopped = true;
      // A pipe that stays open must not keep the process alive.
      (input as { destroy?: () => void }).destroy?.();
    },
    health: () => ({ ok: !stopped, detail: stopped ? "stopped" : "reading" }),
    async send({ payload }: OutgoingDelivery): Promise<SendResult> {
      if (payload.isError) failures += 1;
      (payload.isError ? errors : output).write(`${payload.text ?? ""}\n`);
      return { status: "sent" };
    },
  };
}

/**
 * The whole input, without the line ends at its end. Reads no more than the longest text: input without an end must not
 * fill the memory.
 */
export async function allOf(
  input: AsyncIterable<string | Uint8Array>,
  maxCharacters: number = LONGEST_TEXT,
): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of input) {
    text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length > maxCharacters) throw tooLong("The input", maxCharacters);
  }
  return (text + decoder.decode()).trimEnd();
}

export async function* linesOf(
  input: AsyncIterable<string | Uint8Array>,
  maxCharacters: number = LONGEST_TEXT,
): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of input) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > maxCharacters) throw tooLong("A line of the input", maxCharacters);
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

const tooLong = (what: string, maxCharacters: number): TooLargeError =>
  new TooLargeError(`${what} has more than ${maxCharacters} characters, which is the most of one text.`, {
    hint: "Send it as a file: `rookery send --file PATH <text>`.",
  });
