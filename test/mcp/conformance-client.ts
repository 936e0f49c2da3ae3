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

const url = new URL(process.argv.at(-1) ?? "");
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}") as {
  client_id?: string;
  client_secret?: string;
};
const home = mkdtempSync(join(tmpdir(), "rookery-conformance-"));
const storage = loginStorage(join(home, "mcp-auth.json"));
if (context.client_id !== undefined)
  storage.write("test", { client: { client_id: context.client_id, client_secret: context.client_secret } });

const redirectUrl = "http://127.0.0.1:3000/callback";
let came: URL | undefined;
const provider = oauthProvider({
  ...{ server: "test", storage, redirectUrl },
  // As a browser does: it goes to the address and comes back with a code.
  async open(address) {
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

/** Logs in as often as the server asks for it. */
async function authorised<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      const needsLogin =
        error instanceof UnauthorizedError || String((error as Error).message).includes("Unauthorized");
      if (!needsLogin || !came || attempt > 3) throw error;
      const { searchParams } = came;
      came = undefined;
      await transport?.finishAuth(searchParams);
    }
  }
}

/** Arguments that a schema asks for. */
function argumentsFor(schema: unknown): Record<string, unknown> {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { type?: string }>;
    required?: string[];
  };
  const sample = (type: string | undefined): unknown =>
    type === "number" || type === "integer"
      ? 5
      : type === "boolean"
        ? true
        : type === "array"
          ? []
          : type === "object"
            ? {}
            : "text";
  return Object.fromEntries(required.map((name) => [name, sample(properties[name]?.type)]));
}

try {
  let session = await authorised(connect);
  const tools = await authorised(() => session.tools());
  for (const { name, inputSchema } of tools) {
    const args = argumentsFor(inputSchema);
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
