import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { configSchema } from "../../../config/config-schema.ts";
import { homePaths } from "../../../config/paths.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { ModelResult } from "../../../core/ports/model.ts";
import { systemClock } from "../../system/system-clock.ts";
import { openModels } from "../open-models.ts";
import { startWire, type WireServer } from "../wire.test-kit.ts";
import { type AuthServer, PLANTED, startAuthServer } from "./auth-server.test-kit.ts";
import { describeLogins } from "./describe-logins.ts";
import { type Login, loginIn, readLogins, writeLogin } from "./login-file.ts";
import { Logins } from "./logins.ts";

let home: string;
let server: AuthServer;
const children: ChildProcess[] = [];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rookery-logins-"));
  server = await startAuthServer();
  vi.stubGlobal("fetch", server.redirected);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

const file = (): string => homePaths(home).logins;
const stored = (): Login | undefined => loginIn(readLogins(file()), "xai", "default");
const open = () => new Logins({ file: file(), clock: systemClock, log: silentLog });

/** A login at xAI that the server knows and that expires in this many milliseconds. */
async function loggedIn(expiresInMs: number): Promise<Login> {
  const answer = await server.redirected("https://auth.x.ai/oauth2/token", { method: "POST", body: "grant_type=x" });
  const tokens = (await answer.json()) as { access_token: string; refresh_token: string };
  const login: Login = {
    ...{ id: "login-1", seal: Buffer.alloc(32, 7).toString("base64"), loggedInAt: 1, renewals: 0 },
    credential: { access: tokens.access_token, refresh: tokens.refresh_token, expires: Date.now() + expiresInMs },
    auth: { apiKey: tokens.access_token },
  };
  writeLogin(file(), "xai", "default", login);
  return login;
}

describe("a token that soon expires", () => {
  it("is refreshed once for many calls at the same time, in two engines of a process", async () => {
    const before = await loggedIn(60_000);
    const [one, other] = [open(), open()];
    const problems = await Promise.all([...Array(20)].map((_, n) => (n % 2 ? one : other).refresh("xai")));
    expect(problems.flat()).toEqual([]);
    expect(server.refreshed).toBe(1);
    expect(stored()).toMatchObject({ renewals: 1, id: before.id });
    expect(stored()?.credential.refresh).not.toBe(before.credential.refresh);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it("is left alone as long as it is good", async () => {
    await loggedIn(3_600_000);
    expect(await open().refresh("xai")).toEqual([]);
    expect(server.refreshed).toBe(0);
  });

  it("is refreshed by one of three processes", async () => {
    await loggedIn(60_000);
    const outcomes = await Promise.all([refreshElsewhere(), refreshElsewhere(), refreshElsewhere()]);
    expect(outcomes).toEqual(["[]", "[]", "[]"]);
    expect(server.refreshed).toBe(1);
    expect(stored()?.renewals).toBe(1);
  });

  it("stays usable until it expires if the server is away, and is refreshed later", async () => {
    await loggedIn(60_000);
    server.refreshes = ["broken"];
    expect(await open().refresh("xai")).toEqual([
      { profile: "default", again: false, message: "The login of xai could not be refreshed (503)." },
    ]);
    expect(stored()).toMatchObject({ renewals: 0 });
    expect(stored()?.ended).toBeUndefined();
    expect(await open().refresh("xai")).toEqual([]);
    expect(stored()?.renewals).toBe(1);
  });

  it("that the server refuses to refresh ends the login, and the server is not asked again", async () => {
    await loggedIn(60_000);
    server.refreshes = ["refused"];
    const logins = open();
    const [problem] = await logins.refresh("xai");
    expect(problem).toMatchObject({ again: true });
    expect(problem?.message).toBe("xai no longer accepts the login. Log in again with `rookery models login xai`.");
    const asked = server.asked.length;
    await logins.refresh("xai");
    expect(server.asked.length).toBe(asked);
    expect(describeLogins(readLogins(file()), Date.now())).toMatchObject([{ state: "ended" }]);
  });
});

describe("a process that is killed between the refresh and the save", () => {
  it("holds no lock afterwards; a server that forgives gives new tokens", async () => {
    await loggedIn(60_000);
    server.forgiving = true;
    await killedWhileRefreshing();
    expect(server.refreshed).toBe(1);
    expect(stored()?.renewals).toBe(0);
    expect(await open().refresh("xai")).toEqual([]);
    expect(stored()?.renewals).toBe(1);
  });

  it("leaves a login that must be made again if the server does not forgive, and says so", async () => {
    await loggedIn(60_000);
    await killedWhileRefreshing();
    expect(await open().refresh("xai")).toMatchObject([
      { again: true, message: expect.stringContaining("Log in again") },
    ]);
    expect(readFileSync(file(), "utf8")).toContain(PLANTED);
  });
});

describe("a call with a login", () => {
  let wire: WireServer;
  let refuse: Set<string>;
  beforeEach(async () => {
    refuse = new Set();
    wire = await startWire("openai-responses", ({ headers }) =>
      refuse.has(String(headers.authorization).replace("Bearer ", ""))
        ? { status: 401, body: { error: { message: `no ${PLANTED}`, type: "invalid_request_error" } } }
        : { text: "fine" },
    );
  });
  afterEach(() => wire.close());

  async function call(
    name = "xai/grok-4.7",
    providers: object = { xai: { baseUrl: wire.baseUrl } },
  ): Promise<ModelResult> {
    const config = configSchema.parse({ models: { providers } });
    const { model } = openModels({
      settings: { current: config },
      paths: homePaths(home),
      clock: systemClock,
      log: silentLog,
      env: {},
    });
    return model.call(
      { model: name, system: "", messages: [], tools: [], sessionId: "s", tries: 3 },
      new AbortController().signal,
      () => undefined,
    );
  }

  it("uses the token, refreshed if it soon expires", async () => {
    await loggedIn(60_000);
    expect(await call()).toMatchObject({ content: [{ type: "text", text: "fine" }] });
    expect(wire.received).toHaveLength(1);
    expect(wire.received[0]?.headers.authorization).toBe(`Bearer ${stored()?.credential.access}`);
    expect(wire.received[0]?.headers["user-agent"]).toMatch(/^rookery\//u);
  });

  it("to Kimi sends the token as it wants it, and no key beside it", async () => {
    const kimi = await startWire("anthropic-messages", () => ({ text: "fine" }));
    try {
      const login = await loggedIn(3_600_000);
      const headers = { Authorization: `Bearer ${login.credential.access}` };
      writeLogin(file(), "kimi-coding", "default", { ...login, auth: { headers, baseUrl: kimi.baseUrl } });
      expect(await call("kimi-coding/kimi-for-coding", {})).toMatchObject({
        content: [{ type: "text", text: "fine" }],
      });
      expect(kimi.received[0]?.headers).toMatchObject({ authorization: headers.Authorization });
      expect(kimi.received[0]?.headers["x-api-key"]).toBeUndefined();
    } finally {
      await kimi.close();
    }
  });

  it("to ChatGPT names this program, not the library", async () => {
    const login = await loggedIn(3_600_000);
    writeLogin(file(), "openai-codex", "default", login);
    const answer = await call("openai-codex/gpt-5.5", { "openai-codex": { baseUrl: wire.baseUrl } });
    expect(answer).toMatchObject({ content: [{ type: "text", text: "fine" }] });
    expect(wire.received[0]?.path).toContain("/codex/responses");
    expect(wire.received[0]?.headers).toMatchObject({
      authorization: `Bearer ${login.credential.access}`,
      "chatgpt-account-id": "account-1",
      originator: "rookery",
      "user-agent": expect.stringMatching(/^rookery\//u),
    });
  });

  it("replaces a token that was revoked before its time, once", async () => {
    const { credential } = await loggedIn(3_600_000);
    refuse.add(credential.access);
    expect(await call()).toMatchObject({ content: [{ type: "text", text: "fine" }] });
    expect(wire.received).toHaveLength(2);
    expect(server.refreshed).toBe(1);
  });

  it("says what to do if the login has ended, in words without a token", async () => {
    await loggedIn(-1);
    server.refreshes = ["refused"];
    const { error } = await call();
    expect(error).toMatchObject({ class: "auth", message: expect.stringContaining("`rookery models login xai`") });
    expect(JSON.stringify(error)).not.toContain(PLANTED);
    expect(wire.received).toEqual([]);
  });

  it("waits for the server if an expired token cannot be refreshed now", async () => {
    await loggedIn(-1);
    server.refreshes = ["broken"];
    expect((await call()).error).toMatchObject({ class: "transient", message: expect.stringContaining("(503)") });
    expect((await call()).error).toBeUndefined();
  });
});

it("a file that cannot be read is never replaced", async () => {
  writeFileSync(file(), "{ broken");
  expect(() => writeLogin(file(), "xai", "default", undefined)).toThrow(/cannot be read/u);
  expect(await open().refresh("xai")).toEqual([]);
  expect(readFileSync(file(), "utf8")).toBe("{ broken");
});

const LOGINS = fileURLToPath(new URL("./logins.ts", import.meta.url));
const CLOCK = fileURLToPath(new URL("../../system/system-clock.ts", import.meta.url));
const LOG = fileURLToPath(new URL("../../../core/ports/log.ts", import.meta.url));

function elsewhere(): ChildProcess {
  const script = `
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) => {
      const url = new URL(input);
      return real(${JSON.stringify(server.url)} + "/" + url.host + url.pathname, init);
    };
    const { Logins } = await import(${JSON.stringify(LOGINS)});
    const { systemClock: clock } = await import(${JSON.stringify(CLOCK)});
    const { silentLog: log } = await import(${JSON.stringify(LOG)});
    const logins = new Logins({ file: ${JSON.stringify(file())}, clock, log });
    process.stdout.write(JSON.stringify(await logins.refresh("xai")));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

async function refreshElsewhere(): Promise<string> {
  const child = elsewhere();
  let out = "";
  child.stdout?.on("data", (chunk) => {
    out += chunk;
  });
  await once(child, "close");
  return out;
}

/** The server has used up the old refresh token; the process never sees the answer. */
async function killedWhileRefreshing(): Promise<void> {
  const refreshed = Promise.withResolvers<void>();
  server.refreshes = ["hang"];
  server.onRefreshed = () => refreshed.resolve();
  const child = elsewhere();
  await refreshed.promise;
  child.kill("SIGKILL");
  await once(child, "exit");
}
