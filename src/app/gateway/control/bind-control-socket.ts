/**
 * Binds the control socket of a home and hands its connections to an HTTP server. The caller holds the lock of the home, so a
 * socket that is already there belongs to a dead process and is replaced.
 */
import { chmodSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { join } from "node:path";
import { FILE_MODE } from "../../../config/paths.ts";
import { ConfigError, errorText } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { HttpServer } from "../http/server.ts";
import { assertOwnSocket, PLACE_FILE, placeForEngine } from "./socket-place.ts";

interface ControlSocketOptions {
  readonly home: string;
  /** Called for each connection. It may load the server at the first one. */
  readonly server: () => HttpServer | Promise<HttpServer>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ControlSocket {
  readonly path: string;
  /** Accepts no more connections, and ends those that are left after two seconds. */
  close(): Promise<void>;
}

const CLOSE_MS = 2_000;
/** Connections at once. Commands open one each. */
const MAX_CONNECTIONS = 128;
/** Only the owner may connect. Not stricter: other threads make directories, which need their execute bit. */
const SOCKET_UMASK = 0o077;

export async function bindControlSocket(options: ControlSocketOptions): Promise<ControlSocket> {
  const { home, clock, log } = options;
  const place = placeForEngine(home);
  removeStale(place.path);
  const connections = new Set<Socket>();
  // Not imported: see http/server.ts.
  const server = process.getBuiltinModule("node:net").createServer((connection) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => connection.destroy());
    Promise.resolve(options.server()).then(
      (http) => http.emit("connection", connection),
      (error) => {
        log.error("the control socket cannot answer", { error: errorText(error) });
        connection.destroy();
      },
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listenPrivately(server, place.path);
  // Too many open files, for example: the next connection may succeed.
  server.on("error", (error) => log.warn("a connection to the control socket failed", { error: errorText(error) }));
  try {
    assertOwnSocket(place.path, home);
    if (place.directory !== undefined) namePlace(home, place.directory);
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    path: place.path,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const cancel = clock.after(CLOSE_MS, () => {
        for (const connection of connections) connection.destroy();
      });
      await closed;
      cancel();
      rmSync(place.path, { force: true });
      if (place.directory !== undefined) {
        rmSync(join(home, PLACE_FILE), { force: true });
        rmSync(place.directory, { recursive: true, force: true });
      }
    },
  };
}

/** Removes the socket of a process that was killed. Anything else that lies there was not put there by this program. */
function removeStale(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return;
  if (!stat.isSocket()) {
    throw new ConfigError(`${path} is not a socket.`, { hint: "Move it away: the control socket has this name." });
  }
  rmSync(path);
}

/** The socket never exists with a mode that lets others connect: the umask holds while it is bound. */
function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) =>
      reject(
        new ConfigError(`The control socket ${path} cannot be made: ${cause.message}.`, {
          cause,
          hint: "The file system of the home must support sockets. Choose another home with --home.",
        }),
      ),
    );
    const before = process.umask(SOCKET_UMASK);
    try {
      // Binds before it returns.
      server.listen(path, () => resolve());
      if (lstatSync(path, { throwIfNoEntry: false })) chmodSync(path, FILE_MODE);
    } finally {
      process.umask(before);
    }
  });
}

/** Written whole or not at all: a command may read it at any time. */
function namePlace(home: string, directory: string): void {
  const file = join(home, PLACE_FILE);
  writeFileSync(`${file}.tmp`, `${directory}\n`, { mode: FILE_MODE });
  renameSync(`${file}.tmp`, file);
}
