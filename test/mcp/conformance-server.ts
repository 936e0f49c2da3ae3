/**
 * The server that the conformance suite tests: a real gateway with a real engine, whose `/mcp` has the tools that the suite expects of a
 * server under test besides its own. The suite sends no token, so a proxy adds it.
 */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { openTestGateway, ROOT_TOKEN } from "../../src/app/gateway/gateway.test-kit.ts";
import { mcpRoute } from "../../src/app/gateway/mcp/mcp-routes.ts";
import { ROUTES } from "../../src/app/gateway/route-table.ts";
import { conformanceExtension } from "./conformance-tools.ts";

export interface ConformanceServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function openConformanceServer(): Promise<ConformanceServer> {
  const routes = [...ROUTES.filter(({ path }) => path !== "/mcp"), mcpRoute(conformanceExtension())];
  const kit = await openTestGateway({ routes });
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${ROOT_TOKEN}` };
    const { method, url: path } = incoming;
    const at = { host: "127.0.0.1", port: kit.gateway.port };
    const passed = request({ ...at, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`,
    async close() {
      proxy.closeAllConnections();
      proxy.close();
      await kit.close();
    },
  };
}
