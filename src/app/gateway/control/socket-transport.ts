/** Requests to the engine of a home over its control socket: one connection each. */
import type { IncomingMessage } from "node:http";
import { lostConnection } from "../../client/api.ts";
import type { Transport, TransportRequest, TransportResponse } from "../../client/transport.ts";
import { CONTROL_HOST } from "../auth/control-headers.ts";

export const socketTransport =
  (socketPath: string): Transport =>
  (request) =>
    exchange(socketPath, request);

function exchange(
  socketPath: string,
  { method, path, body, headers, signal }: TransportRequest,
): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    const lost = (cause?: unknown): void => reject(lostConnection(cause));
    const length = body === undefined ? undefined : { "content-length": String(Buffer.byteLength(body)) };
    const sent = process.getBuiltinModule("node:http").request(
      {
        method,
        path,
        socketPath,
        agent: false,
        signal,
        headers: { host: CONTROL_HOST, connection: "close", ...length, ...headers },
      },
      (response) => {
        const body = piecesOf(() => response.setEncoding("utf8"));
        resolve({ status: response.statusCode ?? 0, body, bytes: () => bytesOf(response) });
      },
    );
    sent.on("error", lost);
    sent.end(body);
  });
}

/** `open` is called with the first read: until then the answer may still be read as bytes. */
async function* piecesOf(open: () => IncomingMessage): AsyncGenerator<string> {
  const response = open();
  try {
    yield* response;
  } catch (cause) {
    throw lostConnection(cause);
  }
  if (!response.complete) throw lostConnection();
}

async function bytesOf(response: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (cause) {
    throw lostConnection(cause);
  }
  if (!response.complete) throw lostConnection();
  return Uint8Array.from(Buffer.concat(chunks));
}
