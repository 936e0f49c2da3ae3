/** `POST /mcp`: the MCP server over streamable HTTP. It keeps no sessions: each request stands alone and names its token. */
import { z } from "zod";
import { rookeryClient } from "../../client/rookery-client.ts";
import type { Transport } from "../../client/transport.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { mcpServerOf } from "./mcp-server.ts";

const PASSED = [
  "accept",
  "content-type",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
  "last-event-id",
];

const mcpRoute = defineRoute({
  method: "POST",
  path: "/mcp",
  access: "any",
  own: true,
  action: "message",
  tag: "mcp",
  summary: "The MCP server: JSON-RPC over streamable HTTP, without sessions. Its tools can do what the token can do",
  body: z.union([z.looseObject({}), z.array(z.unknown())]),
  describes: z.looseObject({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.number()]).optional(),
    method: z.string(),
    params: z.record(z.string(), z.unknown()).optional(),
  }),
  example: { jsonrpc: "2.0", id: 1, method: "ping" },
  answers: { status: 200, holds: "a JSON-RPC response" },
  async handle(call) {
    const { createMcpHandler } = await import("@modelcontextprotocol/server");
    const { context } = call;
    const transport = await transportOf(call);
    // Without streams: each request has one answer, as every other route has.
    const handler = createMcpHandler(() => mcpServerOf(rookeryClient(transport), context.version), {
      responseMode: "json",
    });
    const response = await handler.fetch(requestOf(call));
    const message = messageIn(await response.text());
    if (message === undefined) return { status: response.status, text: "", type: "text/plain" };
    return { status: response.status, json: message };
  },
});

/** The one message of an answer, which is JSON, or an event for clients of the older version. */
function messageIn(answer: string): unknown {
  const event = answer.split("\n").findLast((line) => line.startsWith("data: {"));
  const text = event?.slice("data: ".length) ?? answer;
  return text.trim() === "" ? undefined : JSON.parse(text);
}

function requestOf({ header, raw, context }: Pick<Call, "header" | "raw" | "context">): Request {
  const headers = new Headers();
  for (const name of PASSED) {
    const value = header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const signal = context.stopping;
  return new Request("http://localhost/mcp", { method: "POST", headers, body: new Uint8Array(raw), signal });
}

/** Requests of the tools: through the same router, policy and token as any other request. */
async function transportOf({ context, surface, header }: Call): Promise<Transport> {
  const [{ ROUTES }, { lazyRouter }, here] = await Promise.all([
    import("../route-table.ts"),
    import("../routing/router.ts"),
    import("../in-process/fetch-handler.ts"),
  ]);
  const router = lazyRouter(ROUTES, async () => ROUTES);
  if (surface === "control") return here.ownerTransport(context, router);
  const fetch = here.fetchHandler(context, router);
  const authorization = header("authorization") ?? "";
  return async ({ method, path, headers, body, signal }) => {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { ...headers, authorization },
      body,
      signal,
    });
    const response = await fetch(request);
    return {
      status: response.status,
      body: (response.body ?? emptyBody()).pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>,
      bytes: async () => new Uint8Array(await response.arrayBuffer()),
    };
  };
}

const emptyBody = (): ReadableStream<Uint8Array<ArrayBuffer>> =>
  new ReadableStream({ start: (controller) => controller.close() });

export const mcpRoutes: readonly Route[] = [mcpRoute];
