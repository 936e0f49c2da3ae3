import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { DeliveryId } from "../../../core/ids.ts";
import type { IncomingMessage } from "../../../core/message/incoming-message.ts";
import type { ConnectorHost } from "../../../core/ports/connector.ts";
import type { LineEnd } from "./line-end.ts";
import { type LineEnds, stdinConnector } from "./stdin-connector.ts";

interface Options {
  readonly lines?: boolean;
  readonly fail?: boolean;
  readonly ends?: LineEnds;
}

function terminal(input: AsyncIterable<string | Uint8Array>, options: Options = {}) {
  let messages = 0;
  const accepted: IncomingMessage[] = [];
  const out: string[] = [];
  const errors: string[] = [];
  const host: ConnectorHost = {
    async accept(message) {
      if (options.fail) throw new TypeError("not accepted");
      accepted.push(message);
      return { status: "accepted", agentId: "a" as never, messageId: `a/${++messages}` as never };
    },
    command: async () => ({ status: "stale" }),
  };
  const connector = stdinConnector({
    input,
    output: { write: (text) => out.push(text) },
    errors: { write: (text) => errors.push(text) },
    user: "owner",
    lines: options.lines ?? false,
    ends: options.ends,
  });
  return { connector, host, accepted, out, errors };
}

const chunks = async function* (...parts: (string | Uint8Array)[]) {
  yield* parts;
};
const bytes = new TextEncoder().encode("grüße 😀");

describe("piped input", () => {
  it("is one message, in any number of chunks", async () => {
    const { connector, host, accepted } = terminal(chunks("one\n", bytes.slice(0, 3), bytes.slice(3), "\n"));
    await connector.start(host);
    expect(await connector.finished).toBe(1);
    expect(accepted.map(({ text }) => text)).toEqual(["one\ngrüße 😀"]);
  });

  it("is one message per line with `lines`, also without a final line end", async () => {
    const { connector, host, accepted } = terminal(chunks("one\ntw", "o\n\n  \nthree"), { lines: true });
    await connector.start(host);
    expect(await connector.finished).toBe(3);
    expect(accepted.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(new Set(accepted.map(({ messageId }) => messageId)).size).toBe(3);
  });

  it.each([false, true])("that is too long is refused before all of it is read (lines: %s)", async (lines) => {
    let read = 0;
    const endless = async function* () {
      for (;;) {
        read += 1;
        yield "x".repeat(300_000);
      }
    };
    const { connector, host, accepted } = terminal(endless(), { lines });
    await connector.start(host);
    await expect(connector.finished).rejects.toThrow("more than 1000000 characters");
    expect([read, accepted]).toEqual([4, []]);
  });

  it("is no message if it is empty", async () => {
    const { connector, host } = terminal(chunks("  \n"));
    await connector.start(host);
    expect(await connector.finished).toBe(0);
  });

  it("rejects `finished` if a message is not accepted", async () => {
    const { connector, host } = terminal(chunks("hi"), { fail: true });
    await connector.start(host);
    await expect(connector.finished).rejects.toThrow("not accepted");
  });

  it("does not keep the process alive if it never ends, and half a message is not accepted", async () => {
    const pipe = new PassThrough();
    const { connector, host, accepted } = terminal(pipe);
    await connector.start(host);
    pipe.write("half a mess");
    await new Promise(setImmediate);
    await connector.stop();
    await connector.finished;
    expect(accepted).toEqual([]);
    expect(connector.health().ok).toBe(false);
  });
});

describe("lines around a command", () => {
  /** Lines that end when the test says so. */
  const lineEnds = (read: (seq: string) => LineEnd = () => ({ kind: "answered" })) => {
    const waits = new Map<string, () => void>();
    const ends: LineEnds = {
      settled: ({ messageId }) => new Promise<void>((resolve) => waits.set(messageId, resolve)),
      read: async ({ messageId }) => read(messageId),
    };
    return { ends, waits };
  };
  const soon = () => new Promise(setImmediate);

  it.each(["/new C", "/reset", "/compact", "/send off", "/queue collect"])(
    "%s is submitted only after the lines before it have ended",
    async (command) => {
      const { ends, waits } = lineEnds();
      const { connector, host, accepted } = terminal(chunks(`A\nB\n${command}\nD\n`), { lines: true, ends });
      await connector.start(host);
      for (const id of ["a/1", "a/2"]) {
        await soon();
        expect(accepted.map(({ text }) => text)).toEqual(["A", "B"]);
        waits.get(id)?.();
      }
      expect(await connector.finished).toBe(4);
      expect(accepted.map(({ text }) => text)).toEqual(["A", "B", command, "D"]);
    },
  );

  it("stop is submitted at once", async () => {
    const { ends, waits } = lineEnds();
    const { connector, host, accepted } = terminal(chunks("A\nstop\n"), { lines: true, ends });
    await connector.start(host);
    expect(await connector.finished).toBe(2);
    expect([accepted.length, waits.size]).toEqual([2, 0]);
  });

  it("lines without an answer are reported with their number, and those that failed are counted", async () => {
    const { ends } = lineEnds((id) => {
      if (id === "a/1") return { kind: "unanswered", reason: "aborted", failed: true };
      return id === "a/2" ? { kind: "unanswered", reason: "suppressed (policy)", failed: false } : { kind: "answered" };
    });
    const { connector, host, errors } = terminal(chunks("A\n\nB\nC\n"), { lines: true, ends });
    await connector.start(host);
    await connector.finished;
    await connector.report();
    await connector.report();
    expect(errors).toEqual(["Line 1 has no answer: aborted.\n", "Line 3 has no answer: suppressed (policy).\n"]);
    expect(connector.failures()).toBe(1);
  });

  it("a process that stops while a command waits does not submit it", async () => {
    const { ends, waits } = lineEnds();
    const { connector, host, accepted } = terminal(chunks("A\n/reset\n"), { lines: true, ends });
    await connector.start(host);
    await soon();
    await connector.stop();
    waits.get("a/1")?.();
    await connector.finished;
    expect(accepted.map(({ text }) => text)).toEqual(["A"]);
  });
});

describe("a delivery", () => {
  const deliver = (payload: object) => ({ id: "r.0" as DeliveryId, target: {}, payload });

  it("is printed, an error to the error stream, and errors are counted", async () => {
    const { connector, out, errors } = terminal(chunks());
    const signal = new AbortController().signal;
    expect(await connector.send(deliver({ text: "answer" }), signal)).toEqual({ status: "sent" });
    await connector.send(deliver({ text: "oops", isError: true }), signal);
    expect([out, errors, connector.failures()]).toEqual([["answer\n"], ["oops\n"], 1]);
  });
});
