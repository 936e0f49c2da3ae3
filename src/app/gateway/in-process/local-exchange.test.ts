import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { exchangeLocally } from "./local-exchange.ts";

type Listener = Parameters<typeof exchangeLocally>[0];
type LocalRequest = Parameters<typeof exchangeLocally>[1];

const get: LocalRequest = { method: "GET", url: "/x?y=1", headers: { host: "here", accept: "*/*" } };

const ask = (listener: Listener, more: Partial<LocalRequest> = {}) => exchangeLocally(listener, { ...get, ...more });

async function textOf(body: AsyncIterable<string | Uint8Array>): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of body) pieces.push(Buffer.from(piece as string).toString("utf8"));
  return pieces.join("");
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

const piecesOf = async function* (...pieces: string[]) {
  for (const piece of pieces) yield Buffer.from(piece);
};

describe("a request inside one process", () => {
  it("reaches the listener as it was sent, with its body", async () => {
    const seen: unknown[] = [];
    const listener: Listener = async (incoming, outgoing) => {
      const { method, url, headers, rawHeaders, socket } = incoming;
      seen.push({ method, url, headers, rawHeaders, remote: socket.remoteAddress, local: socket.localAddress });
      const body = await bodyOf(incoming);
      outgoing.end(`${body} ${incoming.complete}`);
    };
    const sent = { method: "POST", body: piecesOf("a", "b"), remoteAddress: "10.0.0.9", localAddress: "10.0.0.1" };
    const { status, body } = await ask(listener, sent);
    expect([status, await textOf(body)]).toEqual([200, "ab true"]);
    expect(seen).toEqual([
      {
        method: "POST",
        url: "/x?y=1",
        headers: get.headers,
        rawHeaders: ["host", "here", "accept", "*/*"],
        remote: "10.0.0.9",
        local: "10.0.0.1",
      },
    ]);
  });

  it("whose body fails is not complete", async () => {
    const failed = Promise.withResolvers<boolean>();
    const broken = async function* () {
      yield Buffer.from("a");
      throw new TypeError("broken off");
    };
    const listener: Listener = (incoming, outgoing) => {
      incoming.on("error", () => {
        failed.resolve(incoming.complete);
        outgoing.end("x");
      });
      incoming.resume();
    };
    await ask(listener, { method: "POST", body: broken() });
    expect(await failed.promise).toBe(false);
  });

  it("lets go of a body that no one reads to its end", async () => {
    let returned = false;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: Buffer.from("a") }),
        return: async () => {
          returned = true;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const closed = Promise.withResolvers<void>();
    const listener: Listener = (incoming, outgoing) => {
      incoming.on("close", () => closed.resolve());
      outgoing.end("refused");
    };
    await textOf((await ask(listener, { method: "POST", body })).body);
    await closed.promise;
    expect(returned).toBe(true);
  });
});

describe("a response inside one process", () => {
  it.each<[string, (outgoing: ServerResponse) => void, number, Record<string, string>]>([
    ["without a head", (out) => out.end("x"), 200, {}],
    [
      "with a head",
      (out) => {
        out.setHeader("X-One", 1);
        out.writeHead(404, { "X-Two": "b" }).end("x");
      },
      404,
      { "x-one": "1", "x-two": "b" },
    ],
    [
      "whose head is written once",
      (out) => {
        out.statusCode = 202;
        out.flushHeaders();
        out.statusCode = 500;
        out.end("x");
      },
      202,
      {},
    ],
  ])("%s has its status and headers", async (_, write, status, headers) => {
    const response = await ask((_incoming, outgoing) => write(outgoing));
    expect([response.status, response.headers, await textOf(response.body)]).toEqual([status, headers, "x"]);
  });

  it("says when its head was sent, as one on a socket does", async () => {
    const sent: boolean[] = [];
    const { body } = await ask((_, outgoing) => {
      sent.push(outgoing.headersSent);
      outgoing.writeHead(200);
      sent.push(outgoing.headersSent);
      outgoing.end();
    });
    expect([sent, await textOf(body)]).toEqual([[false, true], ""]);
    const written = Promise.withResolvers<boolean>();
    await ask((_, outgoing) => {
      outgoing.write("x", () => written.resolve(outgoing.headersSent));
    });
    expect(await written.promise).toBe(true);
  });

  it.each([
    ["as much as is held for a slow reader", 65_536, true],
    ["more than is held for a slow reader", 65_537, false],
  ])("lets its writer go on at once or when it is read: %s", async (_, size, goesOn) => {
    const taken = Promise.withResolvers<void>();
    let isTaken = false;
    const { body } = await ask((_incoming, outgoing) => {
      outgoing.write("x".repeat(size), () => {
        isTaken = true;
        taken.resolve();
      });
      outgoing.end();
    });
    await new Promise(setImmediate);
    expect(isTaken).toBe(goesOn);
    expect((await textOf(body)).length).toBe(size);
    await taken.promise;
  });

  it("that is cut before its head rejects, and after it fails its reader", async () => {
    await expect(ask((_, outgoing) => void outgoing.destroy())).rejects.toMatchObject({ code: "connection_lost" });
    const { body } = await ask((_, outgoing) => {
      outgoing.write("x");
      setImmediate(() => outgoing.destroy());
    });
    await expect(textOf(body)).rejects.toMatchObject({ code: "connection_lost" });
  });

  it("is cut when its caller stops: by a signal, or by reading no further", async () => {
    const aborted = AbortSignal.abort();
    let called = false;
    const never: Listener = (_, outgoing) => {
      called = true;
      outgoing.end();
    };
    await expect(ask(never, { signal: aborted })).rejects.toMatchObject({ code: "connection_lost" });
    expect(called).toBe(false);
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    const waiting = ask((_, outgoing) => void outgoing.on("close", () => closed.resolve()), { signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: "connection_lost" });
    await closed.promise;
    const left = Promise.withResolvers<void>();
    const { body } = await ask((_, outgoing) => {
      outgoing.on("close", () => left.resolve());
      outgoing.write("x");
    });
    for await (const _ of body) break;
    await left.promise;
  });
});
