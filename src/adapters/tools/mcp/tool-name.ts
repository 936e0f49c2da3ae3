/** Names of MCP tools as models and rules see them: `mcp__server__tool`, at most 64 letters, digits, dashes and underscores. */
import { createHash } from "node:crypto";

const MCP_PREFIX = "mcp__";
const MAX_NAME = 64;
const DIGEST = 8;

/** Two tools never have the same name: one that had to be changed ends with a digest of the whole. */
export function mcpToolName(server: string, tool: string): string {
  const whole = `${MCP_PREFIX}${server}__${tool}`;
  const name = whole.replace(/[^A-Za-z0-9_-]/g, "-");
  if (name === whole && name.length <= MAX_NAME) return name;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, DIGEST);
  return `${name.slice(0, MAX_NAME - DIGEST - 1)}-${digest}`;
}

export const isMcpTool = (name: string): boolean => name.startsWith(MCP_PREFIX);
