/** `rookery mcp login` at a real login server over HTTP, and the engine's use of what it got. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
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
let home: string;
const opened: NodeMcp[] = [];
beforeAll(async () => {
  server = await openOAuthServer();
});
beforeEach(() => {
  home = makeDiskDirectory("rookery-mcp-login-");
  server.refuse = undefined;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
  rmSync(home, { recursive: true, force: true });
});
afterAll(() => server.close());

const settings = (more: object = {}) => ({ url: `${server.url}/mcp`, oauth: true, ...more });

/** As the engine does: what the server's tool says. */
async function listed(more: object = {}): Promise<string> {
  const config = configSchema.parse({ mcp: { servers: { tickets: settings(more) } } });
  const ports = { clock: systemClock, log: { warn() {}, info() {} }, store: { fact: async () => undefined } };
  const mcp = nodeMcp({ config, paths: homePaths(home), ports: ports as never, env: {} });
  opened.push(mcp);
  const { live } = await mcp.servers.check("tickets");
  return live.map(({ name }) => name).join();
}

/** A browser that follows where it is sent. */
const browser = (address: URL): Promise<void> => fetch(address).then(async (page) => void (await page.text()));

async function loggedIn(more: object = {}): Promise<void> {
  const config = configSchema.parse({ mcp: { servers: { tickets: settings(more) } } }).mcp.servers.tickets;
  if (!config) throw new TypeError("no such server");
  const client = clientOf(config, secretDeps(home, {}));
  const where = { name: "tickets", url: `${server.url}/mcp`, paths: homePaths(home), port: 0 };
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
  const where = { name: "tickets", url: `${server.url}/mcp`, paths: homePaths(home), port: 0 };
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

printsDocumentsOf("mcp login");
