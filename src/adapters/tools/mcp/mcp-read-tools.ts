/** `mcp_resources` and `mcp_prompts`: what servers offer besides tools. They only read. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { McpToolDeps } from "./mcp-tool.ts";
import { mcpToolName } from "./tool-name.ts";
import { blockOf, textOfResource } from "./tool-output.ts";

/** Undefined if there is no such server for the agents of the profile. */
export type ServerNamed = (name: string, profile: string) => McpToolDeps | undefined;

const resourcesInput = z.strictObject({
  server: z.string().max(64),
  uri: z.string().max(2_000).optional().describe("Reads this one; without it, lists them"),
});
const promptsInput = z.strictObject({
  server: z.string().max(64),
  name: z.string().max(200).optional().describe("Shows this one; without it, lists them"),
  arguments: z.record(z.string(), z.string().max(10_000)).optional(),
});

const MAX_LISTED = 100;
const common = { rights: ["network"], replay: "safe", parallel: true, untrusted: true, maxOutput: 20_000 } as const;

const required = (serverNamed: ServerNamed, name: string, { profile }: AgentRecord): McpToolDeps => {
  const deps = serverNamed(name, profile);
  if (!deps) throw new NotFoundError(`There is no MCP server "${name.slice(0, 64)}".`);
  return deps;
};
const text = (content: string, server: string) => ({
  content: [{ type: "text", text: content || "There are none." }] as const,
  untrusted: { from: `mcp:${server}` },
});

export const mcpResourcesTool = (serverNamed: ServerNamed): Tool<z.infer<typeof resourcesInput>> => ({
  ...common,
  name: "mcp_resources",
  description: "Lists or reads the resources of an MCP server.",
  input: resourcesInput,
  effects: ({ server }) => [{ action: mcpToolName(server, "resources"), rights: ["network"] }],
  async execute({ server, uri }, { agent, signal }) {
    const { link, timeoutMs } = required(serverNamed, server, agent);
    return link.use(async ({ client }) => {
      const options = { signal, timeout: timeoutMs() };
      if (uri !== undefined) {
        const { contents } = await client.readResource({ uri }, options);
        return text(
          contents.map((each) => textOfResource(each as { uri: string; text?: string })).join("\n\n"),
          server,
        );
      }
      const { resources } = await client.listResources(undefined, options);
      const lines = resources
        .slice(0, MAX_LISTED)
        .map(({ uri: at, name, description = "" }) => `${at} ${name} ${description}`.slice(0, 500));
      return text(lines.join("\n"), server);
    }, signal);
  },
});

export const mcpPromptsTool = (serverNamed: ServerNamed): Tool<z.infer<typeof promptsInput>> => ({
  ...common,
  name: "mcp_prompts",
  description: "Lists or shows the prompts of an MCP server.",
  input: promptsInput,
  effects: ({ server }) => [{ action: mcpToolName(server, "prompts"), rights: ["network"] }],
  async execute({ server, name, arguments: args }, { agent, signal }) {
    const { link, timeoutMs } = required(serverNamed, server, agent);
    return link.use(async ({ client }) => {
      const options = { signal, timeout: timeoutMs() };
      if (name !== undefined) {
        const { messages } = await client.getPrompt({ name, arguments: args }, options);
        const shown = messages.map(({ role, content }) => {
          const block = blockOf(content);
          return `${role}: ${block.type === "text" ? block.text : "[image]"}`;
        });
        return text(shown.join("\n\n"), server);
      }
      const { prompts } = await client.listPrompts(undefined, options);
      const lines = prompts
        .slice(0, MAX_LISTED)
        .map(({ name: at, description = "" }) => `${at} ${description}`.slice(0, 500));
      return text(lines.join("\n"), server);
    }, signal);
  },
});
