/** The configuration of the engine that is killed: the same server twice, once with a tool that may be repeated. */
import { join } from "node:path";

export const killedLog = (home: string): string => join(home, "log.txt");

/** Each is called for an account of its name. */
export const KILLED_TOOLS = ["mcp__once__hold_appended", "mcp__repeated__hold_appended"] as const;

export function killedConfig(home: string): object {
  const server = {
    command: process.execPath,
    args: [join(import.meta.dirname, "fixture-server.ts")],
    env: { MCP_LOG: killedLog(home) },
    sandbox: false,
  };
  return {
    owner: { accounts: KILLED_TOOLS.map((tool) => `test:${tool}`) },
    queue: { debounceMs: 0 },
    permissions: { allow: ["mcp__repeated__*", "mcp__once__*"] },
    mcp: { servers: { once: server, repeated: { ...server, safe: ["hold_*"] } } },
  };
}
