/** A wire that can be cut: forwards connections to a server, breaks them on command, and can refuse new ones. */
import { connect, createServer, type Server as NetServer, type Socket } from "node:net";

export interface WireProxy {
  readonly port: number;
  /** The same address with this proxy in between. */
  through(url: string): string;
  /** Breaks every connection. */
  cut(): void;
  /** While true no new connection gets through. */
  refusing: boolean;
  /** Breaks a connection as soon as the server sends an answer with these bytes, before the client receives it. */
  cutAtAnswer(bytes: string | undefined): void;
  close(): Promise<void>;
}

export async function startProxy(target: { host: string; port: number }): Promise<WireProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let fatal: string | undefined;
  const server: NetServer = createServer((client) => {
    if (proxy.refusing) return void client.destroy();
    const upstream = connect(target);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end).setNoDelay(true);
    client.pipe(upstream);
    upstream.on("data", (chunk) => {
      if (fatal !== undefined && chunk.includes(fatal)) {
        fatal = undefined;
        end();
      } else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const proxy: WireProxy = {
    port,
    refusing: false,
    through(url) {
      const via = new URL(url);
      via.host = `127.0.0.1:${port}`;
      return via.href;
    },
    cut() {
      for (const [client, upstream] of pairs) {
        client.destroy();
        upstream.destroy();
      }
    },
    cutAtAnswer(bytes) {
      fatal = bytes;
    },
    close() {
      proxy.cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}
