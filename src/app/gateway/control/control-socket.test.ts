import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../adapters/system/system-clock.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { askHttp, openTestGateway, type TestGateway } from "../gateway.test-kit.ts";
import { createServer as createHttpServer } from "../http/server.ts";
import { ROUTES } from "../route-table.ts";
import { isStream } from "../routing/output.ts";
import { bindControlSocket, type ControlSocket } from "./bind-control-socket.ts";
import { assertOwnSocket, PLACE_FILE } from "./socket-place.ts";

describe("the control socket of a gateway", () => {
  let kit: TestGateway;
  let socket: string;
  const STORE = "postgres://one";
  beforeAll(async () => {
    kit = await openTestGateway({ store: STORE, limits: { requestsPerSecond: 1 } });
    socket = join(kit.home, "control.sock");
  });
  afterAll(() => kit.close());

  const withoutToken = ROUTES.filter((route) => route.access !== "hook" && !isStream(route));
  const pathOf = (path: string): string =>
    path
      .replace(":run", "00000000-0000-7000-8000-000000000000")
      .replace(/:\w+/g, "1")
      .replace(":token", "0".repeat(12));

  it("serves every route to the owner without a token, and is not limited by load", async () => {
    for (const { method, path } of withoutToken) {
      if (path === "/api/config/reload") continue;
      const body = method === "GET" ? undefined : {};
      const { status, text } = await askHttp(socket, { method, path: pathOf(path), token: null, body });
      expect([401, 403, 429], `${method} ${path}: ${text}`).not.toContain(status);
    }
    const minted = await askHttp(socket, {
      method: "POST",
      path: "/api/tokens",
      token: null,
      body: { name: "x", scopes: ["admin"] },
    });
    expect(minted.status).toBe(201);
  });

  it("belongs to its owner alone", () => {
    expect(lstatSync(socket).mode & 0o777).toBe(0o600);
    expect(() => assertOwnSocket(socket, kit.home)).not.toThrow();
    chmodSync(socket, 0o666);
    expect(() => assertOwnSocket(socket, kit.home)).toThrow("can be used by other users");
    chmodSync(socket, 0o600);
  });

  it("refuses a request for another store, and serves one for its own", async () => {
    const ask = (store: string) =>
      askHttp(socket, {
        path: "/api/agents",
        token: null,
        headers: { "rookery-store": createHash("sha256").update(store).digest("hex") },
      });
    expect((await ask("postgres://two")).json.error?.code).toBe("other_store");
    expect((await ask(STORE)).status).toBe(200);
  });

  it("does not let a page use it", async () => {
    const ask = (headers: Record<string, string>) => askHttp(socket, { path: "/api/agents", token: null, headers });
    expect((await ask({ origin: "https://evil.example" })).status).toBe(403);
    expect((await ask({ host: "evil.example" })).status).toBe(421);
  });

  it("is not reached over the network by any header", async () => {
    const free = await openTestGateway();
    const tries: readonly Record<string, string>[] = [
      { host: "localhost" },
      { "rookery-store": createHash("sha256").update(STORE).digest("hex") },
      { "x-forwarded-for": "control" },
      { forwarded: "for=unix:" },
      { "x-forwarded-host": "localhost", "x-real-ip": "" },
      { surface: "control", "x-rookery-surface": "control" },
      { authorization: "Bearer control" },
      { authorization: "Bearer root" },
      { authorization: "Bearer " },
    ];
    try {
      for (const headers of tries) {
        const answer = await askHttp(free.gateway.port, { path: "/api/agents", token: null, headers });
        expect(answer.status, JSON.stringify(headers)).toBe(401);
      }
    } finally {
      await free.close();
    }
  });
});

describe("binding the control socket", () => {
  let home: string;
  let bound: ControlSocket[];
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "rookery-bind-"));
    bound = [];
  });
  afterEach(async () => {
    for (const socket of bound) await socket.close();
    rmSync(home, { recursive: true, force: true });
  });

  const server = createHttpServer({
    tls: undefined,
    limits: { requestSeconds: 10, requests: 10 },
    onRequest(_, outgoing) {
      outgoing.shouldKeepAlive = false;
      outgoing.end(JSON.stringify({ here: true }));
    },
  });
  const bind = async (at = home): Promise<ControlSocket> => {
    const socket = await bindControlSocket({ home: at, server: () => server, clock: systemClock, log: silentLog });
    bound.push(socket);
    return socket;
  };
  const answers = async ({ path }: ControlSocket) => (await askHttp(path, { path: "/" })).json;

  it("replaces the socket of a killed process", async () => {
    const stale = createServer();
    stale.listen(join(home, "stale.sock"));
    await once(stale, "listening");
    const { renameSync } = await import("node:fs");
    // A socket that nobody listens on, as after kill -9.
    renameSync(join(home, "stale.sock"), join(home, "control.sock"));
    stale.close();
    const socket = await bind();
    expect(await answers(socket)).toEqual({ here: true });
  });

  it("never removes a file that is not a socket", async () => {
    writeFileSync(join(home, "control.sock"), "keep me");
    await expect(bind()).rejects.toThrow("is not a socket");
    expect(existsSync(join(home, "control.sock"))).toBe(true);
  });

  it("works for a home with a long path, and leaves nothing behind", async () => {
    const long = join(home, "x".repeat(120));
    mkdirSync(long, { mode: 0o700 });
    const socket = await bind(long);
    expect(socket.path.startsWith(long)).toBe(false);
    expect(lstatSync(join(long, PLACE_FILE)).mode & 0o777).toBe(0o600);
    expect(await answers(socket)).toEqual({ here: true });
    await socket.close();
    expect([readdirSync(long), existsSync(socket.path)]).toEqual([[], false]);
  });
});
