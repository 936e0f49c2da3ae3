/**
 * The server that the conformance suite tests: the MCP server of this program with an empty engine behind it, and what the suite expects a
 * server under test to offer besides. Prints its address.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  originValidationResponse,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { RookeryClient } from "../../src/app/client/rookery-client.ts";
import { mcpServerOf } from "../../src/app/gateway/mcp/mcp-server.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const nothing = { agents: { list: async () => ({ items: [], next: null }) } } as unknown as RookeryClient;
const text = (value: string) => ({ type: "text" as const, text: value });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const resource = {
  type: "resource" as const,
  resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." },
};

function addExpected(server: McpServer): void {
  const tool = (name: string, content: object[], isError?: boolean) =>
    server.registerTool(
      name,
      { description: name, inputSchema: z.object({}) },
      async () => ({ content, isError }) as never,
    );
  tool("test_simple_text", [text("This is a simple text response for testing.")]);
  tool("test_image_content", [image]);
  tool("test_audio_content", [{ type: "audio", data: WAV, mimeType: "audio/wav" }]);
  tool("test_embedded_resource", [resource]);
  tool("test_multiple_content_types", [
    text("Multiple content types test:"),
    image,
    {
      ...resource,
      resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data"}' },
    },
  ]);
  tool("test_error_handling", [text("This tool intentionally returns an error for testing")], true);
  server.registerTool(
    "test_tool_with_progress",
    { description: "progress", inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100])
        if (progressToken !== undefined)
          await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      return { content: [text("done")] };
    },
  );
  server.registerResource("static-text", "test://static-text", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "This is the content of the static text resource." }],
  }));
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "image/png", blob: PNG }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    async (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  const user = (content: object) => ({ messages: [{ role: "user" as const, content }] }) as never;
  server.registerPrompt("test_simple_prompt", { description: "simple" }, () =>
    user(text("This is a simple prompt for testing.")),
  );
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "arguments", argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    ({ arg1, arg2 }) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      user({
        type: "resource",
        resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
      }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "image" }, () => user(image));
}

const handler = createMcpHandler(async () => {
  const server = await mcpServerOf(nothing, "1.0.0");
  addExpected(server);
  return server;
});

const server = createServer(async (incoming, outgoing) => {
  const body = incoming.method === "POST" ? (Readable.toWeb(incoming) as never) : undefined;
  const headers = new Headers(
    Object.entries(incoming.headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])) as [
      string,
      string,
    ][],
  );
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method,
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  const rejected =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  const response = rejected ?? (await handler.fetch(request));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body) Readable.fromWeb(response.body as never).pipe(outgoing);
  else outgoing.end();
}).listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
