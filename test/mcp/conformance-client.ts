/**
 * The client that the conformance suite tests: the sessions and logins of this program, driven through a scenario. The suite names the
 * scenario and gives the address of its server as the last argument.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { loginStorage, oauthProvider } from "../../src/adapters/tools/mcp/oauth-provider.ts";
import { type McpSession, openSession } from "../../src/adapters/tools/mcp/open-session.ts";
import { pinned } from "../../src/adapters/tools/mcp/pinned-tools.ts";

const url = new URL(process.argv.at(-1) ?? "");
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}") as {
  client_id?: string;
  client_secret?: string;
};
const home = mkdtempSync(join(tmpdir(), "rookery-conformance-"));
const storage = loginStorage(join(home, "mcp-auth.json"));
/** A person would not log in more often for one thing. */
const MAX_LOGINS = 3;
let logins = 0;
const redirectUrl = "http://127.0.0.1:3000/callback";
let came: URL | undefined;
const provider = oauthProvider({
  ...{ server: "test", storage, redirectUrl },
  client: context.client_id === undefined ? undefined : { id: context.client_id, secret: context.client_secret },
  metadataUrl: scenario === "auth/basic-cimd" ? "https://conformance-test.local/client-metadata.json" : undefined,
  // As a browser does: it goes to the address and comes back with a code.
  async open(address) {
    logins++;
    if (logins > MAX_LOGINS) throw new Error("The server asks for a login again and again.");
    const response = await fetch(address, { redirect: "manual" });
    came = new URL(response.headers.get("location") ?? redirectUrl);
  },
});
let transport: StreamableHTTPClientTransport | undefined;

const connect = (): Promise<McpSession> =>
  openSession({
    isLocal: false,
    timeoutMs: 60_000,
    onClosed() {},
    // The person accepts what the form proposes.
    elicit: () => ({ action: "accept", content: {} }),
    async transport() {
      transport = new StreamableHTTPClientTransport(url, {
        authProvider: scenario.startsWith("auth/") ? provider : undefined,
      });
      return transport;
    },
  });

/** Logs in when the server asks for it. */
async function authorised<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const needsLogin =
        error instanceof UnauthorizedError || String((error as Error).message).includes("Unauthorized");
      if (!needsLogin || !came) throw error;
      const { searchParams } = came;
      came = undefined;
      await transport?.finishAuth(searchParams);
    }
  }
}

/** Texts that cannot stand in a header as they are. */
const AWKWARD: Readonly<Record<string, string>> = {
  non_ascii_val: "日本語",
  whitespace_val: "  both  ",
  leading_space_val: " leading",
  trailing_space_val: "trailing ",
  internal_space_val: "in the middle",
  control_char_val: "bell\u0007",
  crlf_val: "one\r\ntwo",
  tab_val: "\ttab",
  empty_val: "",
};
const SAMPLES: Readonly<Record<string, unknown>> = { number: 5, integer: 5, boolean: true, array: [], object: {} };

/** Arguments that a schema asks for. */
function argumentsFor(schema: unknown): Record<string, unknown> {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { type?: string }>;
    required?: string[];
  };
  const names = new Set([...required, ...Object.keys(properties).filter((name) => name in AWKWARD)]);
  return Object.fromEntries(
    [...names].map((name) => [name, AWKWARD[name] ?? SAMPLES[properties[name]?.type ?? ""] ?? "text"]),
  );
}

try {
  let session = await authorised(connect);
  const tools = await authorised(() => session.tools());
  for (const { name, inputSchema } of tools) {
    const args = argumentsFor(inputSchema);
    // What models see of a schema is what is pinned.
    const [first] = tools;
    if (name === "json_schema_echo" && first) args.schema = pinned(first)?.parameters;
    await authorised(async () => {
      try {
        const result = await session.client.callTool({ name, arguments: args }, { allowInputRequired: true });
        // The answer of a person goes back with the state of the server, as `mcp_answer` sends it.
        const { inputRequests, requestState } = result as {
          inputRequests?: Record<string, unknown>;
          requestState?: string;
        };
        if ((result as { resultType?: string }).resultType !== "input_required") return;
        const inputResponses = Object.fromEntries(
          Object.keys(inputRequests ?? {}).map((key) => [key, { action: "accept", content: { confirmed: true } }]),
        );
        await session.client.callTool({ name, arguments: args, inputResponses, requestState } as never, {
          allowInputRequired: true,
        });
      } catch (error) {
        if (!came) throw error;
        const { searchParams } = came;
        came = undefined;
        await transport?.finishAuth(searchParams);
        session = await connect();
        await session.client.callTool({ name, arguments: args });
      }
    });
  }
  await session.close();
} finally {
  rmSync(home, { recursive: true, force: true });
}
