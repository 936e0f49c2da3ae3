/** Mounts a `fetch` in a plain server of Node, as docs/library.md shows it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FetchHandler } from "../gateway/in-process/fetch-handler.ts";

export const toNode = (fetch: FetchHandler) => async (incoming: IncomingMessage, outgoing: ServerResponse) => {
  const { method = "GET", url = "/", headers, socket } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const request = new Request(`http://${headers.host}${url}`, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    body: hasBody ? Readable.toWeb(incoming) : null,
    duplex: "half",
    signal: gone.signal,
  });
  const response = await fetch(request, { address: socket.remoteAddress });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) return void outgoing.end();
  // A reader that leaves early ends the stream.
  await pipeline(response.body, outgoing).catch(() => undefined);
};
