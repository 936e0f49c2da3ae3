/**
 * A minimal pooler in transaction mode: clients are answered at once, and each transaction runs on whichever
 * server connection is free. Just enough of the protocol to show what that does to locks and notifications.
 */
import { connect, createServer, type Socket } from "node:net";

interface Backend {
  readonly socket: Socket;
  client: Socket | undefined;
}

export async function startTransactionPooler(url: string): Promise<{ url: string; close(): Promise<void> }> {
  const { hostname, port, username, pathname } = new URL(url);
  const backends: Backend[] = [];
  const sockets = new Set<Socket>();

  async function backend(): Promise<Backend> {
    const socket = connect({ host: hostname, port: Number(port) });
    sockets.add(socket);
    const made: Backend = { socket, client: undefined };
    const start = Buffer.from(`user\0${username}\0database\0${pathname.slice(1)}\0\0`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(start.length + 8, 0);
    head.writeInt32BE(196_608, 4);
    socket.write(Buffer.concat([head, start]));
    let rest = Buffer.alloc(0);
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("data", (chunk) => {
        rest = Buffer.concat([rest, chunk]);
        while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
          const size = rest.readInt32BE(1) + 1;
          const message = rest.subarray(0, size);
          rest = rest.subarray(size);
          const isReady = message[0] === 0x5a;
          made.client?.write(message);
          if (!isReady) continue;
          resolve();
          // Idle: the next transaction of any client may get this connection.
          if (message[5] === 0x49) made.client = undefined;
        }
      });
    });
    backends.push(made);
    return made;
  }

  const server = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    let started = false;
    let queue = Promise.resolve();
    client.on("data", (chunk) => {
      if (!started) {
        started = true;
        // Authentication is fine, ready for queries.
        client.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]));
        return;
      }
      if (chunk[0] === 0x58) return void client.end();
      queue = queue.then(async () => {
        const mine =
          backends.find((one) => one.client === client) ?? backends.find((one) => !one.client) ?? (await backend());
        mine.client = client;
        mine.socket.write(chunk);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const pooled = new URL(url);
  pooled.host = `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  return {
    url: pooled.href,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
