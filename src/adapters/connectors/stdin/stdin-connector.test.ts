import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { DeliveryId } from "../../../core/ids.ts";
import type { IncomingMessage } from "../../../core/message/incoming-message.ts";
import type { ConnectorHost, IncomingCommand } from "../../../core/ports/connector.ts";
import { stdinConnector } from "./stdin-connector.ts";

function terminal(input: AsyncIterable<string | Uint8Array>, options: { lines?: boolean; fail?: boolean } = {}) {
  const accepted: IncomingMessage[] = [];
  const commands: IncomingCommand[] = [];
  const out: string[] = [];
  const errors: string[] = [];
  const host: ConnectorHost = {
    async accept(message) {
      if (options.fail) throw new TypeError("not accepted");
      accepted.push(message);
      return { status: "accepted", agentId: "a" as never, messageId: "m" as never };
    },
    async command(command) {
      commands.push(command);
      return { status: "accepted", agentId: "a" as never, messageId: "m" as never };
    },
  };
  const connector = stdinConnector({
    input,
    output: { write: (text) => out.push(text) },
    errors: { write: (text) => errors.push(text) },
    user: "owner",
    lines: options.lines ?? false,
  });
  return { connector, host, accepted, commands, out, errors };
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

  it("is no message if it is empty", async () => {
    const { connector, host } = terminal(chunks("  \n"));
    await connector.start(host);
    expect(await connector.finished).toBe(0);
  });

  it("can be a command", async () => {
    const { connector, host, commands, accepted } = terminal(chunks("/reset be brief"));
    await connector.start(host);
    await connector.finished;
    expect(accepted).toEqual([]);
    expect(commands[0]?.command).toEqual({ name: "reset", text: "be brief" });
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
