/** The login at a remote MCP server: a browser goes to its address and comes back to a port of this machine with a code. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loginRequests } from "../../adapters/tools/mcp/login-requests.ts";
import { loginStorage, oauthProvider, type ProviderOptions } from "../../adapters/tools/mcp/oauth-provider.ts";
import { type HomePaths, mcpAuthFile } from "../../config/paths.ts";
import { DeniedError, TimeoutError } from "../../core/errors.ts";

interface LoginOptions {
  readonly name: string;
  readonly url: string;
  readonly paths: HomePaths;
  readonly port: number;
  /** The private addresses that the server may name for the login. */
  readonly allowPrivate: readonly string[];
  /** Who this program is at the login server. */
  readonly client?: Pick<ProviderOptions, "client" | "metadataUrl">;
  readonly show: (url: URL) => void | Promise<void>;
  readonly timeoutMs?: number;
}

const MAX_WAIT_MS = 300_000;

export async function logIn(options: LoginOptions): Promise<void> {
  const { name, url, paths, port, allowPrivate, client, show, timeoutMs = MAX_WAIT_MS } = options;
  const { auth } = await import("@modelcontextprotocol/client");
  const state = randomBytes(16).toString("base64url");
  const came = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    const back = new URL(request.url ?? "/", "http://127.0.0.1");
    response.setHeader("content-type", "text/plain; charset=utf-8");
    const isOurs = back.pathname === "/callback" && back.searchParams.get("state") === state;
    response.writeHead(isOurs ? 200 : 404).end(isOurs ? "You can close this page." : "");
    if (isOurs) came.resolve(back);
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  const timer = setTimeout(() => came.reject(new TimeoutError("No one logged in in time.")), timeoutMs);
  try {
    const redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    const storage = loginStorage(mcpAuthFile(paths));
    // A client that was registered for another port would be refused.
    storage.write(name, { client: undefined, tokens: undefined });
    const requests = loginRequests({ url, allowPrivate });
    const open = async (to: URL): Promise<void> => {
      await requests.check(to);
      await show(to);
    };
    const provider = oauthProvider({ server: name, storage, ...client, redirectUrl, state, open });
    const at = { serverUrl: url, fetchFn: requests.fetch };
    if ((await auth(provider, at)) === "AUTHORIZED") return;
    const { searchParams } = await came.promise;
    const code = searchParams.get("code");
    if (code === null)
      throw new DeniedError(`The server refused the login: ${searchParams.get("error")?.slice(0, 200)}.`);
    await auth(provider, { ...at, authorizationCode: code, iss: searchParams.get("iss") ?? undefined });
  } finally {
    clearTimeout(timer);
    server.closeAllConnections();
    server.close();
  }
}
