/** An MCP server for tests, over stdio, that writes files: as any program with a directory of its own would. */
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

serveStdio(() => {
  const server = new McpServer({ name: "files", version: "1.0.0" });
  const inputSchema = z.object({ path: z.string(), text: z.string() });
  server.registerTool("put", { description: "Writes a file.", inputSchema }, async ({ path, text }) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return said(`wrote ${path}`);
  });
  server.registerTool("append", { description: "Appends to a file.", inputSchema }, async ({ path, text }) => {
    appendFileSync(path, text);
    return said(`appended to ${path}`);
  });
  server.registerTool("keep", { description: "Writes a file from now on.", inputSchema }, async ({ path, text }) => {
    setInterval(() => writeFileSync(path, text), 10);
    return said(`writes ${path}`);
  });
  const from = z.object({ from: z.string(), to: z.string() });
  server.registerTool("rename", { description: "Renames a file.", inputSchema: from }, async ({ from, to }) => {
    renameSync(from, to);
    return said(`renamed ${from}`);
  });
  return server;
});
process.stdin.on("close", () => process.exit(0));
