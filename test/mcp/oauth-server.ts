/** A login server and an MCP server behind it, over HTTP: registration, codes with PKCE, tokens that expire, and faults on demand. */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface OAuthServer {
  readonly url: string;
  /** The requests to the login server, in order. */
  readonly asked: readonly string[];
  /** Who has registered itself. */
  readonly clients: ReadonlyMap<string, Record<string, unknown>>;
  /** The access tokens so far are over. */
  expire(): void;
  /** The person says no, or the server registers no one. */
  refuse: "person" | "registration" | undefined;
  /** Replaces fields of what it says about itself and its login server. */
  says: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function openOAuthServer(): Promise<OAuthServer> {
  const asked: string[] = [];
  const clients = new Map<string, Record<string, unknown>>([["known", { client_secret: "the-secret" }]]);
  const codes = new Map<string, URLSearchParams>();
  const refreshTokens = new Set<string>();
  let accessTokens = new Set<string>();
  const state: Pick<OAuthServer, "refuse" | "says"> = { refuse: undefined, says: {} };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "tickets", version: "1" });
    server.registerTool("list_tickets", { description: "Lists tickets.", inputSchema: z.object({}) }, async () => ({
      content: [{ type: "text", text: "ticket 7" }],
    }));
    return server;
  });

  const granted = (): object => {
    const tokens = { access_token: randomUUID(), refresh_token: randomUUID(), token_type: "Bearer", expires_in: 3_600 };
    accessTokens.add(tokens.access_token);
    refreshTokens.add(tokens.refresh_token);
    return tokens;
  };
  const token = (form: URLSearchParams, authorization: string | undefined): [number, object] => {
    asked.push(form.get("grant_type") ?? "");
    if (form.get("grant_type") === "refresh_token")
      return refreshTokens.delete(form.get("refresh_token") ?? "")
        ? [200, granted()]
        : [400, { error: "invalid_grant" }];
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const digest = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isOurs = code?.get("code_challenge") === digest && code.get("redirect_uri") === form.get("redirect_uri");
    const secret = clients.get(code?.get("client_id") ?? "")?.client_secret as string | undefined;
    const sent = authorization?.startsWith("Basic ")
      ? Buffer.from(authorization.slice(6), "base64").toString().split(":")[1]
      : (form.get("client_secret") ?? undefined);
    return isOurs && sent === secret ? [200, granted()] : [400, { error: "invalid_grant" }];
  };

  const server = createServer(async (incoming, outgoing) => {
    const at = new URL(incoming.url ?? "/", url);
    const body = await read(incoming);
    const answer = (status: number, json: object, headers: Record<string, string> = {}) =>
      outgoing.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(json));
    switch (at.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return answer(200, { resource: `${url}/mcp`, authorization_servers: [url], ...state.says });
      case "/.well-known/oauth-authorization-server":
        return answer(200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          registration_endpoint: state.refuse === "registration" ? undefined : `${url}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          authorization_response_iss_parameter_supported: true,
          ...state.says,
        });
      case "/register": {
        asked.push("register");
        const client = { ...(JSON.parse(body) as object), client_id: randomUUID() };
        clients.set(client.client_id, client);
        return answer(201, client);
      }
      case "/authorize": {
        asked.push(`authorize ${clients.has(at.searchParams.get("client_id") ?? "")}`);
        const back = new URL(at.searchParams.get("redirect_uri") ?? "");
        const code = randomUUID();
        codes.set(code, at.searchParams);
        if (state.refuse === "person") back.searchParams.set("error", "access_denied");
        else back.searchParams.set("code", code);
        back.searchParams.set("state", at.searchParams.get("state") ?? "");
        back.searchParams.set("iss", url);
        return void outgoing.writeHead(302, { location: back.href }).end();
      }
      case "/token":
        return answer(...token(new URLSearchParams(body), incoming.headers.authorization));
      case "/mcp": {
        if (!accessTokens.has(incoming.headers.authorization?.slice("Bearer ".length) ?? ""))
          return answer(
            401,
            { error: "invalid_token" },
            { "www-authenticate": `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"` },
          );
        const headers = new Headers(incoming.headers as Record<string, string>);
        const response = await handler.fetch(new Request(at, { method: "POST", headers, body }));
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        return void outgoing.end(await response.text());
      }
      default:
        return answer(404, {});
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    ...{ url, asked, clients },
    expire() {
      accessTokens = new Set();
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await handler.close();
    },
  });
}

async function read(incoming: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  return text;
}
