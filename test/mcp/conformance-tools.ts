/** What the conformance suite expects a server under test to offer: tools, prompts and resources that exercise each part of the protocol. */
import { randomBytes } from "node:crypto";
import {
  completable,
  createRequestStateCodec,
  fromJsonSchema,
  InMemoryServerEventBus,
  type McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { mcpRoute } from "../../src/app/gateway/mcp/mcp-routes.ts";
import { addAsking } from "./conformance-asking.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const text = (value: string) => ({ type: "text" as const, text: value });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const resource = {
  type: "resource" as const,
  resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." },
};

export function conformanceExtension(): NonNullable<Parameters<typeof mcpRoute>[0]> {
  const bus = new InMemoryServerEventBus();
  const states = createRequestStateCodec<{ step: string }>({ key: randomBytes(32) });
  return {
    bus,
    options: {
      capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, logging: {} },
      requestState: { verify: states.verify },
    },
    add(server) {
      addTools(server);
      addResources(server);
      addPrompts(server);
      addAsking(server, states);
      for (const [name, kind] of [
        ["test_trigger_tool_change", "tools_list_changed"],
        ["test_trigger_prompt_change", "prompts_list_changed"],
      ] as const)
        server.registerTool(name, { description: name, inputSchema: z.object({}) }, async () => {
          bus.publish({ kind });
          return { content: [text("changed")] };
        });
    },
  };
}

function addTools(server: McpServer): void {
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
  server.registerTool(
    "test_logging_tool",
    { description: "logs", inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      await mcpReq.log("info", "Tool execution started");
      return { content: [text("logged")] };
    },
  );
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "a schema with newer words", inputSchema: fromJsonSchema(SCHEMA_2020) },
    async () => ({ content: [text("ok")] }),
  );
  const headed = {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
    required: ["region"],
  } as const;
  server.registerTool(
    "test_header_tool",
    { description: "a parameter that is a header too", inputSchema: fromJsonSchema<{ region: string }>(headed) },
    async ({ region }) => ({ content: [text(region)] }),
  );
}

const SCHEMA_2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

function addResources(server: McpServer): void {
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
}

function addPrompts(server: McpServer): void {
  const user = (content: object) => ({ messages: [{ role: "user" as const, content }] }) as never;
  server.registerPrompt("test_simple_prompt", { description: "simple" }, () =>
    user(text("This is a simple prompt for testing.")),
  );
  const places = completable(z.string(), (value) => ["paris", "park", "party"].filter((one) => one.startsWith(value)));
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "arguments", argsSchema: z.object({ arg1: places, arg2: z.string() }) },
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
