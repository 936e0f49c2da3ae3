/** A TCP proxy that cuts connections on demand: after the server has received the request, and before its answer arrives. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  readonly port: number;
  /** How many of the next connections are cut when the server starts to answer. */
  cut: number;
  /** Cuts all open connections. */
  cutNow(): void;
  readonly cuts: () => number;
  close(): Promise<void>;
}

export async function cuttingProxy(target: number): Promise<CuttingProxy> {
  let cuts = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    open.add(client);
    const close = (): void => {
      open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    client.on("error", close).on("close", close);
    upstream.on("error", close).on("close", close);
    client.pipe(upstream);
    upstream.on("data", (chunk) => {
      if (proxy.cut > 0) {
        proxy.cut -= 1;
        cuts += 1;
        close();
      } else client.write(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: CuttingProxy = {
    port: (server.address() as AddressInfo).port,
    cut: 0,
    cuts: () => cuts,
    cutNow() {
      for (const client of [...open]) {
        cuts += 1;
        client.destroy();
      }
    },
    async close() {
      for (const client of [...open]) client.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}
