import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { httpPost } from "./http-post.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer({ keepAliveTimeout: 60_000 }, listener);
  await new Promise<void>((listening) => server?.listen(0, "127.0.0.1", listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
}

async function said(url: string, body: string, signal = new AbortController().signal) {
  const answer = await httpPost(url, { "x-who": "ann" }, body, signal);
  let text = "";
  await answer.read((chunk) => {
    text += Buffer.from(chunk).toString();
  });
  return { status: answer.status, type: answer.header("content-type"), text };
}

describe("an HTTP request", () => {
  it("sends headers and body, returns status, headers and text, and reuses the connection", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve(async (request, response) => {
      ports.add(request.socket.remotePort);
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      response.writeHead(418, { "content-type": "text/tea" });
      response.end(`${request.method} ${request.headers["x-who"]} ${Buffer.concat(chunks)}`);
    });
    for (const word of ["grün", "red"]) {
      expect(await said(url, word)).toEqual({ status: 418, type: "text/tea", text: `POST ann ${word}` });
    }
    expect(ports.size).toBe(1);
  });

  it("is repeated once if the server closed the reused connection, and not twice", async () => {
    const sockets = new Set<Socket>();
    let asked = 0;
    let closes = false;
    const url = await serve((request, response) => {
      asked += 1;
      sockets.add(request.socket);
      // Closed without a response, as if the request and the close had crossed.
      if (closes && sockets.size === 1) request.socket.destroy();
      else response.end("ok");
    });
    await said(url, "");
    closes = true;
    expect((await said(url, "")).text).toBe("ok");
    expect(asked).toBe(3);
  });

  it("fails if the server does not listen, if the response breaks off, and if the reader throws", async () => {
    const url = await serve((_, response) => {
      response.write("half");
      setImmediate(() => response.destroy());
    });
    await expect(said(url, "")).rejects.toThrow();
    await expect(said("http://127.0.0.1:9/", "")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const answer = await httpPost(await serve((_, response) => response.end("x")), {}, "", AbortSignal.timeout(60_000));
    const failed = answer.read(() => {
      throw new RangeError("full");
    });
    await expect(failed).rejects.toThrow(RangeError);
  });

  it.each(["before", "after"] as const)("is aborted by its signal %s the response began", async (when) => {
    const stop = new AbortController();
    const url = await serve((_, response) => {
      if (when === "after") response.write("half");
      setImmediate(() => stop.abort());
    });
    await expect(said(url, "", stop.signal)).rejects.toThrow();
  });
});
