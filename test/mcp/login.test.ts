/** `rookery mcp login` at a real login server over HTTP, and the engine's use of what it got. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { printsDocumentsOf } from "../../src/app/cli/command-document.test-kit.ts";
import { EXIT } from "../../src/app/cli/exit-code.ts";
import { logIn } from "../../src/app/cli/mcp-login.ts";
import { clientOf, type NodeMcp, nodeMcp } from "../../src/app/node/node-mcp.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { secretDeps } from "../../src/config/load-config.ts";
import { homePaths, mcpAuthFile } from "../../src/config/paths.ts";
import { makeDiskDirectory } from "../kit/disk-directory.ts";
import { type OAuthServer, openOAuthServer } from "./oauth-server.ts";

let server: OAuthServer;
/** A server in the private network that logins must not reach, and the headers that it was sent. */
const inner = createServer((request, response) => {
  reached.push(request.headers);
  response.writeHead(404).end();
}).listen(0, "127.0.0.1");
const reached: IncomingHttpHeaders[] = [];
const innerHost = (): string => `127.0.0.1:${(inner.address() as AddressInfo).port}`;
let home: string;
const opened: NodeMcp[] = [];
beforeAll(async () => {
  server = await openOAuthServer();
});
beforeEach(() => {
  home = makeDiskDirectory("rookery-mcp-login-");
  server.refuse = undefined;
  server.says = {};
  reached.length = 0;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
  rmSync(home, { recursive: true, force: true });
});
afterAll(async () => {
  inner.close();
  await server.close();
});

const settings = (more: object = {}) => ({ url: `${server.url}/mcp`, oauth: true, ...more });

/** As the engine does: what the server's tool says. */
async function listed(more: object = {}, allowPrivate: readonly string[] = []): Promise<string> {
  const config = configSchema.parse({ mcp: { servers: { tickets: settings(more) } }, network: { allowPrivate } });
  const ports = { clock: systemClock, log: { warn() {}, info() {} }, store: { fact: async () => undefined } };
  const mcp = nodeMcp({ settings: { current: config }, paths: homePaths(home), ports: ports as never, env: {} });
  opened.push(mcp);
  const { live } = await mcp.servers.check("tickets");
  return live.map(({ name }) => name).join();
}

/** A browser that follows where it is sent. */
const browser = (address: URL): Promise<void> => fetch(address).then(async (page) => void (await page.text()));

async function loggedIn(more: object = {}, allowPrivate: readonly string[] = []): Promise<void> {
  const config = configSchema.parse({ mcp: { servers: { tickets: settings(more) } } }).mcp.servers.tickets;
  if (!config) throw new TypeError("no such server");
  const client = clientOf(config, secretDeps(home, {}));
  const where = { name: "tickets", url: `${server.url}/mcp`, paths: homePaths(home), port: 0, allowPrivate };
  await logIn({ ...where, client, show: (url) => void browser(url), timeoutMs: 30_000 });
}

/** The command with `--json`, beside a browser that opens the address it prints. */
const command = (name: string) =>
  runCommand(["mcp", "login", name, "--json", "--home", home], {
    onError(text) {
      const address = /http:\S+\/authorize\S+/.exec(text)?.[0];
      if (address) void browser(new URL(address));
    },
  });

it("logs in with the command: it registers itself, prints an address and keeps the tokens to itself", async () => {
  writeFileSync(join(home, "rookery.json5"), JSON.stringify({ mcp: { servers: { tickets: settings() } } }));
  await expect(listed()).rejects.toThrow("cannot be used");
  const { code, out, err } = await command("tickets");
  expect([code, JSON.parse(out)]).toEqual([EXIT.ok, { server: "tickets", loggedIn: true }]);
  expect(err).toMatch(/^Open this address in a browser:\n/u);
  const file = mcpAuthFile(homePaths(home));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toContain("refresh_token");
  expect(server.asked).toEqual(["register", "authorize true", "authorization_code"]);
  expect(await listed()).toBe("list_tickets");
});

it("refreshes a token that is over, once, and says what to do when that fails", async () => {
  await loggedIn();
  server.expire();
  const before = server.asked.length;
  expect(await listed()).toBe("list_tickets");
  expect(server.asked.slice(before)).toEqual(["refresh_token"]);
  expect(await listed()).toBe("list_tickets");
  expect(server.asked.slice(before)).toEqual(["refresh_token"]);
  writeFileSync(mcpAuthFile(homePaths(home)), "{}");
  const error = await listed().catch((thrown) => thrown);
  expect(String(error.message)).toContain("wants a login");
});

it("uses a client that was registered before, where none can register itself", async () => {
  server.refuse = "registration";
  await expect(loggedIn()).rejects.toThrow();
  const before = server.asked.length;
  await loggedIn({ clientId: "known", clientSecret: "the-secret" });
  expect(server.asked.slice(before)).toEqual(["authorize true", "authorization_code"]);
  expect(await listed({ clientId: "known", clientSecret: "the-secret" })).toBe("list_tickets");
});

it("ends when the person says no, and takes no answer that it did not ask for", async () => {
  server.refuse = "person";
  writeFileSync(join(home, "rookery.json5"), JSON.stringify({ mcp: { servers: { tickets: settings() } } }));
  const refused = await command("tickets");
  expect([refused.code, refused.out]).toEqual([EXIT.failure, ""]);
  expect(refused.err).toContain("The server refused the login: access_denied.");
  const unknown = await command("nothing");
  expect([unknown.code, unknown.err]).toEqual([EXIT.usage, expect.stringContaining("is not a remote MCP server")]);
  await expect(loggedIn()).rejects.toThrow("The server refused the login: access_denied.");
  server.refuse = undefined;
  const where = { name: "tickets", url: `${server.url}/mcp`, paths: homePaths(home), port: 0, allowPrivate: [] };
  const statuses: number[] = [];
  const show = async (url: URL): Promise<void> => {
    const back = new URL(url.searchParams.get("redirect_uri") ?? "");
    back.searchParams.set("code", "stolen");
    back.searchParams.set("state", "guessed");
    statuses.push((await fetch(back)).status);
    void browser(url);
  };
  await logIn({ ...where, show, timeoutMs: 30_000 });
  expect(statuses).toEqual([404]);
  expect(await listed()).toBe("list_tickets");
});

it.each([
  ["login server", (at: string) => ({ authorization_servers: [at] })],
  ["registration_endpoint", (at: string) => ({ registration_endpoint: `${at}/x` })],
  ["authorization_endpoint", (at: string) => ({ authorization_endpoint: `${at}/x` })],
  ["token_endpoint", (at: string) => ({ token_endpoint: `${at}/x` })],
])("does not reach a private address that the server names as %s, unless the owner allows it", async (_, says) => {
  server.says = says(`http://${innerHost()}`);
  await expect(loggedIn()).rejects.toMatchObject({
    message: "127.0.0.1 is not a public address.",
    hint: expect.stringContaining(innerHost()),
  });
  expect(reached).toEqual([]);
  // A browser that gets an error from it never comes back.
  if ("authorization_endpoint" in server.says) return;
  await expect(loggedIn({}, [innerHost()])).rejects.toThrow();
  expect(reached.length).toBeGreaterThan(0);
});

it("refreshes no token at a private address, and sends no header of the MCP server to a login server", async () => {
  await loggedIn();
  server.says = { token_endpoint: `http://${innerHost()}/x` };
  server.expire();
  const headers = { "x-key": "key-of-the-mcp-server" };
  await expect(listed({ headers })).rejects.toThrow();
  expect(reached).toEqual([]);
  await expect(listed({ headers }, [innerHost()])).rejects.toThrow();
  expect(reached.length).toBeGreaterThan(0);
  expect(JSON.stringify(reached)).not.toContain("key-of-the-mcp-server");
});

printsDocumentsOf("mcp login");
