/**
 * `POST /mcp`: the MCP server over streamable HTTP. It keeps no sessions: each request stands alone and names its token. An answer is one
 * message, or a stream if the caller asked for progress or listens for changes.
 */
import type { McpRequestContext, McpServer, McpServerOptions, ServerEventBus } from "@modelcontextprotocol/server";
import { z } from "zod";
import { EngineApi, pathOf } from "../../client/engine-api.ts";
import { rookeryClient } from "../../client/rookery-client.ts";
import type { Transport } from "../../client/transport.ts";
import { assertStreamAllowed } from "../events/open-event-stream.ts";
import { ANSWERED } from "../http/send-reply.ts";
import { eventStream, media } from "../routing/output.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { type Follow, followedIn, followingBus } from "./conversation-resource.ts";
import { mcpServerOf } from "./mcp-server.ts";
import { sendStream } from "./send-stream.ts";

const PASSED = [
  "accept",
  "content-type",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
  "last-event-id",
];
/** Parameters of tools that callers repeat as headers. */
const PARAMETER = "mcp-param-";

/** Tools, prompts and resources besides those of the engine. */
interface McpExtension {
  readonly options?: McpServerOptions;
  readonly bus?: ServerEventBus;
  add(server: McpServer): void;
}

export const mcpRoute = (extension?: McpExtension): Route =>
  defineRoute({
    name: "callMcp",
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
    output: {
      200: [z.record(z.string(), z.unknown()), eventStream("A stream of messages")],
      202: media("text/plain", "A notification was received"),
    },
    async handle(call) {
      const { createMcpHandler } = await import("@modelcontextprotocol/server");
      const { context, body } = call;
      const wish = streamWish(body);
      if (wish === "listen") assertStreamAllowed(call);
      const transport = await transportOf(call);
      const build = async ({ era }: McpRequestContext): Promise<McpServer> => {
        const { version } = context;
        const server = await mcpServerOf({ rookery: rookeryClient(transport), version, era, ...extension });
        extension?.add(server);
        return server;
      };
      const api = new EngineApi(transport);
      const follow: Follow = (agent, options) => api.events(pathOf("api", "agents", agent, "events"), options);
      // Heartbeats are those of every stream of the gateway.
      const handler = createMcpHandler(build, {
        bus: followingBus(followedIn(body), follow, extension?.bus),
        keepAliveMs: 0,
      });
      const response = await handler.fetch(requestOf(call));
      const isStream = response.headers.get("content-type")?.includes("text/event-stream");
      if (isStream && wish && response.body && context.streams.hasRoom(call.principal)) {
        sendStream(call, response.body);
        return ANSWERED;
      }
      const message = messageIn(await response.text());
      if (message === undefined) return { status: response.status, text: "", type: "text/plain" };
      // A JSON-RPC error has a status of its own.
      return { status: response.status as 200, json: message as Readonly<Record<string, unknown>> };
    },
  });

/** What a request wants a stream for. Other answers of the older version are streams of one message: they are sent as JSON. */
function streamWish(body: unknown): "listen" | "progress" | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { _meta?: { progressToken?: unknown } } };
  if (method === "subscriptions/listen") return "listen";
  return params?._meta?.progressToken === undefined ? undefined : "progress";
}

/** The one message of an answer, which is JSON, or an event for clients of the older version. */
function messageIn(answer: string): unknown {
  const event = answer.split("\n").findLast((line) => line.startsWith("data: {"));
  const text = event?.slice("data: ".length) ?? answer;
  return text.trim() === "" ? undefined : JSON.parse(text);
}

function requestOf({ header, raw, context, incoming, outgoing }: Call): Request {
  const headers = new Headers();
  const parameters = Object.keys(incoming.headers).filter((name) => name.startsWith(PARAMETER));
  for (const name of [...PASSED, ...parameters]) {
    const value = header(name);
    if (value !== undefined) headers.set(name, value);
  }
  // A caller who is gone has cancelled the request.
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const signal = AbortSignal.any([context.stopping, gone.signal]);
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

export const mcpRoutes: readonly Route[] = [mcpRoute()];
