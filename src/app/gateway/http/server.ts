/** The HTTP or HTTPS server under the gateway: timeouts, sizes, and a clear refusal of any other protocol. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { ConfigError } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import { errorBody, HttpError } from "./http-error.ts";

export type HttpServer = Server | SecureServer;

/** Contents of the PEM files, not their paths. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

interface ServerLimits {
  /** How long a request may take to arrive. */
  readonly requestSeconds: number;
  /** Requests in progress. */
  readonly requests: number;
}

interface ServerOptions {
  readonly tls: Certificate | undefined;
  readonly limits: ServerLimits;
  readonly onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
}

const HEADERS_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const HEADER_BYTES = 16_384;
const CLOSE_MS = 2_000;
/** Connections that wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`). */
const BACKLOG = 4_096;
/** Connections beyond twice the requests: each gets an answer to its first request, 503 if too many are in progress. */
const SPARE_CONNECTIONS = 8_192;

export function createServer({ tls, limits, onRequest }: ServerOptions): HttpServer {
  const shared = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: HEADER_BYTES,
    noDelay: true,
  };
  // Not imported: an import reads every export of a module, and one export of node:http loads a whole client.
  const server = tls
    ? process.getBuiltinModule("node:https").createServer({ ...shared, ...tls }, onRequest)
    : process.getBuiltinModule("node:http").createServer(shared, onRequest);
  limitServer(server, limits);
  for (const event of ["upgrade", "connect"]) server.on(event, (_request, socket: Duplex) => refuseProtocol(socket));
  return server;
}

/** May be called again: the limits change while the server runs. */
function limitServer(server: HttpServer, { requestSeconds, requests }: ServerLimits): void {
  server.requestTimeout = requestSeconds * 1000;
  server.headersTimeout = Math.min(HEADERS_MS, requestSeconds * 1000);
  // A connection above this number is closed without an answer, so it is far above what is answered with 503.
  server.maxConnections = 2 * requests + SPARE_CONNECTIONS;
}

/** Writes the answer by hand: the server no longer manages a socket that asked for an upgrade or a tunnel. */
function refuseProtocol(socket: Duplex): void {
  const error = new HttpError(400, "only_http", "This server speaks HTTP only. Send the request without an upgrade.");
  const body = JSON.stringify(errorBody(error));
  const head = [
    "HTTP/1.1 400 Bad Request",
    "connection: close",
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.on("error", () => {});
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** Resolves with the port. Rejects with `ConfigError` if the address cannot be used. */
export function listen(server: HttpServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      reject(
        new ConfigError(`The gateway cannot listen on ${host}:${port}: ${cause.message}.`, {
          cause,
          hint:
            cause.code === "EADDRINUSE"
              ? "Another program uses the port; choose one with --port or gateway.port."
              : "Choose another gateway.host or gateway.port.",
        }),
      );
    });
    server.listen({ port, host, backlog: BACKLOG }, () => resolve((server.address() as AddressInfo).port));
  });
}

/** Closes idle connections as they become idle, and after two seconds all that are left. */
export async function closeServer(server: HttpServer, clock: Clock): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const deadline = clock.monotonic() + CLOSE_MS;
  let cancel = (): void => {};
  const closeIdle = (): void => {
    if (clock.monotonic() >= deadline) server.closeAllConnections();
    else {
      server.closeIdleConnections();
      cancel = clock.after(20, closeIdle);
    }
  };
  closeIdle();
  await closed;
  cancel();
}
