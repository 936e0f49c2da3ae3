/**
 * An MCP server for tests, over stdio. It appends to a file when it acts, asks for input, reports progress, waits until it is cancelled,
 * and ends its process on demand, before or after the effect. `MCP_LEGACY`: it speaks the older version only.
 */
import { appendFileSync } from "node:fs";
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const log = process.env.MCP_LOG ?? "/dev/null";
const description = process.env.MCP_DESCRIPTION ?? "Appends a line to the log.";
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

function build(era: "modern" | "legacy"): McpServer {
  const server = new McpServer(
    { name: "fixture", version: "1.0.0" },
    { capabilities: { tools: {}, resources: {}, prompts: {} } },
  );
  const append = server.registerTool(
    "append",
    { description, inputSchema: z.object({ line: z.string() }) },
    async ({ line }) => {
      appendFileSync(log, `${line}\n`);
      return text(`appended ${line}`);
    },
  );
  server.registerTool(
    "describe_append",
    { description: "Describes append differently from now on.", inputSchema: z.object({ as: z.string() }) },
    async ({ as }) => {
      append.update({ description: as });
      return text("described");
    },
  );
  server.registerTool(
    "append_then_die",
    { description: "Acts and dies.", inputSchema: z.object({ line: z.string() }) },
    async ({ line }) => {
      appendFileSync(log, `${line}\n`);
      process.exit(1);
    },
  );
  server.registerTool(
    "hold_appended",
    { description: "Acts, and answers when it is let.", inputSchema: z.object({ line: z.string() }) },
    async ({ line }) => {
      appendFileSync(log, `${line}\n`);
      const { existsSync } = await import("node:fs");
      while (!existsSync(`${log}.go`)) await new Promise((resolve) => setTimeout(resolve, 10));
      return text(`held ${line}`);
    },
  );
  server.registerTool("die_once", { description: "Dies at its first call.", inputSchema: z.object({}) }, async () => {
    const { existsSync, writeFileSync } = await import("node:fs");
    if (existsSync(`${log}.died`)) return text("lives");
    writeFileSync(`${log}.died`, "");
    process.exit(1);
  });
  server.registerTool(
    "progress",
    { description: "Reports progress.", inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      const token = mcpReq._meta?.progressToken;
      for (const progress of [1, 2])
        if (token !== undefined)
          await mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken: token, progress, total: 2, message: `step ${progress}` },
          });
      // Until the caller has seen it: then it came before the result.
      const { existsSync } = await import("node:fs");
      while (!existsSync(`${log}.seen`)) await new Promise((resolve) => setTimeout(resolve, 10));
      return text("done");
    },
  );
  server.registerTool(
    "wait",
    { description: "Waits until it is cancelled.", inputSchema: z.object({}) },
    async (_, { mcpReq }) => {
      appendFileSync(log, "waiting\n");
      await new Promise<void>((resolve) => mcpReq.signal.addEventListener("abort", () => resolve()));
      appendFileSync(log, "cancelled\n");
      return text("cancelled");
    },
  );
  server.registerTool(
    "transfer",
    { description: "Asks before it acts.", inputSchema: z.object({ to: z.string() }) },
    async ({ to }, { mcpReq }) => {
      const requestedSchema = {
        type: "object" as const,
        properties: { pin: { type: "string" as const } },
        required: ["pin"],
      };
      const message = `Which PIN for ${to}?`;
      if (era === "modern") {
        const answer = acceptedContent<{ pin: string }>(mcpReq.inputResponses, "pin");
        if (!answer)
          return inputRequired({
            inputRequests: { pin: inputRequired.elicit({ message, requestedSchema }) },
            requestState: "state-1",
          });
        appendFileSync(log, `transfer ${to} ${answer.pin} ${mcpReq.requestState()}\n`);
        return text("transferred");
      }
      const answer = await server.server.elicitInput({ message, requestedSchema });
      if (answer.action !== "accept") return text("not transferred");
      appendFileSync(log, `transfer ${to} ${String(answer.content?.pin)}\n`);
      return text("transferred");
    },
  );
  server.registerTool(
    "env",
    { description: "Shows its variables and what it can see.", inputSchema: z.object({ path: z.string() }) },
    async ({ path }) => {
      const { readFileSync } = await import("node:fs");
      let seen = "";
      try {
        seen = readFileSync(path, "utf8");
      } catch (error) {
        seen = (error as NodeJS.ErrnoException).code ?? "";
      }
      return text(JSON.stringify({ names: Object.keys(process.env).sort(), seen }));
    },
  );
  server.registerResource("note", "note://one", { description: "a note" }, async (uri) => ({
    contents: [{ uri: uri.href, text: "the note" }],
  }));
  server.registerPrompt("greet", { description: "greets", argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }],
  }));
  return server;
}

if (process.env.MCP_LEGACY) await build("legacy").connect(new StdioServerTransport());
else serveStdio(({ era }) => build(era));
// An engine that was killed leaves no server behind.
process.stdin.on("close", () => process.exit(0));
