/**
 * Opens a session with an MCP server over stdio or streamable HTTP. It offers the version 2026-07-28 of the protocol and falls back to
 * 2025-11-25. The packages are loaded here, with the first use of a server.
 */
import type { CallToolResult, Client, Tool as ServerTool, Transport } from "@modelcontextprotocol/client";
import { readVersion } from "../../system/version.ts";

/** The parts of a server that this program uses. */
export interface McpSession {
  /** The version of the protocol that both speak. */
  readonly version: string;
  readonly instructions?: string;
  readonly client: Client;
  tools(): Promise<readonly ServerTool[]>;
  /** The last lines that a local server wrote to its standard error. */
  errors(): string;
  close(): Promise<void>;
}

/** `onClosed` is called if the session ends by itself. Rejects if it cannot be opened within the time. */
export type OpenSession = (timeoutMs: number, onClosed: () => void) => Promise<McpSession>;

/** A question that a server asks while it works on a call, by the key of the question. */
type Elicit = (request: ElicitRequest) => ElicitAnswer;
interface ElicitRequest {
  readonly message: string;
  readonly schema?: unknown;
  readonly url?: string;
}
export type ElicitAnswer =
  | { readonly action: "accept"; readonly content?: Record<string, string | number | boolean | string[]> }
  | { readonly action: "decline" | "cancel" };

interface SessionOptions {
  /** A new transport for each attempt: a server that does not know the newer version may end at the first request. */
  readonly transport: () => Promise<Transport>;
  readonly errors?: () => string;
  /** Answers questions of servers that speak the older version. */
  readonly elicit: Elicit;
  readonly timeoutMs: number;
  readonly onClosed: () => void;
  /** Remote servers that are silent are away; local ones may be old. */
  readonly isLocal: boolean;
}

const MAX_TOOLS = 500;
/** An older local server may never answer the first question; a newer one may start slowly on a busy machine. */
const PROBE_MS = 15_000;

export async function openSession(options: SessionOptions): Promise<McpSession> {
  const { Client } = await import("@modelcontextprotocol/client");
  const attempt = async (mode: "auto" | "legacy"): Promise<McpSession> => {
    const client = new Client(
      { name: "rookery", version: readVersion() },
      {
        capabilities: { elicitation: { form: { applyDefaults: true }, url: {} } },
        versionNegotiation: {
          mode,
          probe: { timeoutMs: options.isLocal ? Math.min(PROBE_MS, options.timeoutMs / 2) : options.timeoutMs },
        },
        inputRequired: { autoFulfill: false },
        listMaxPages: 20,
      },
    );
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const { message, requestedSchema, url } = params as { message: string; requestedSchema?: unknown; url?: string };
      return options.elicit({ message, schema: requestedSchema, url });
    });
    let closing = false;
    client.onclose = () => {
      if (!closing) options.onClosed();
    };
    const transport = await options.transport();
    try {
      await client.connect(transport, { timeout: options.timeoutMs });
    } catch (error) {
      closing = true;
      await client.close().catch(() => undefined);
      await transport.close().catch(() => undefined);
      throw error;
    }
    return {
      version: client.getNegotiatedProtocolVersion() ?? "",
      instructions: client.getInstructions(),
      client,
      async tools() {
        if (!client.getServerCapabilities()?.tools) return [];
        // A server may ask for its list to be cached. The pins are compared with a fresh list.
        const { tools } = await client.listTools(undefined, { timeout: options.timeoutMs, cacheMode: "refresh" });
        return tools.slice(0, MAX_TOOLS);
      },
      errors: options.errors ?? (() => ""),
      async close() {
        closing = true;
        await client.close().catch(() => undefined);
      },
    };
  };
  if (!options.isLocal) return attempt("auto");
  // Servers that end at a request they do not know are started once more.
  return attempt("auto").catch(() => attempt("legacy"));
}

export type { CallToolResult, ServerTool };
