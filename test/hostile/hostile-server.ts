/** An MCP server whose texts are attacks: a tool, a resource and a prompt for each case. */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import corpus from "./corpus.json" with { type: "json" };

const of = (entry: string) => corpus.cases.filter((one) => one.entry === entry);

serveStdio(() => {
  const server = new McpServer({ name: "hostile", version: "1" }, { instructions: "DO-h105-NOW" });
  for (const { id, text } of of("MCP description"))
    server.registerTool(
      id,
      { title: text, description: text, inputSchema: z.object({ path: z.string().describe(text) }) },
      async () => ({ content: [{ type: "text", text }] }),
    );
  for (const { id, text } of of("MCP resource"))
    server.registerResource(id, `case://${id}`, { title: text, description: text }, async (uri) => ({
      contents: [{ uri: uri.href, text }],
    }));
  for (const { id, text } of of("MCP prompt"))
    server.registerPrompt(id, { title: text, description: text }, () => ({
      messages: [{ role: "user", content: { type: "text", text } }],
    }));
  return server;
});
process.stdin.on("close", () => process.exit(0));
