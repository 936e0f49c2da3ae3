import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AuthServer, PLANTED, startAuthServer } from "../../adapters/models/logins/auth-server.test-kit.ts";
import { cliHome, type RunOptions, runCommand, TERMINAL } from "./cli.test-kit.ts";
import { printsDocumentsOf } from "./command-document.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const KEY = "sk-planted-0123456789-abcdef-wxyz";

const home = cliHome();
const run = (argv: readonly string[], around: RunOptions = {}) =>
  runCommand([...argv, "--home", home.dir], { input: "", ...around });

describe("rookery models keys", () => {
  it("stores a key from standard input, lists it masked, and removes it", async () => {
    expect(await run(["models", "keys", "add", "anthropic"], { input: `${KEY}\n` })).toMatchObject({
      code: EXIT.ok,
      err: "",
    });
    expect(statSync(join(home.dir, "auth.json")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(home.dir, "auth.json"), "utf8")).toContain(KEY);
    const list = await run(["models", "keys", "list"]);
    expect(list.out).toMatch(/^anthropic {2}default {2}\*\*\*wxyz {2}/);
    expect(list.out).not.toContain("planted");
    expect(await run(["models", "keys", "remove", "anthropic"])).toMatchObject({ code: EXIT.ok });
    expect((await run(["models", "keys", "list"])).out).toContain("There are no keys");
    expect((await run(["models", "keys", "remove", "anthropic"])).code).toBe(EXIT.failure);
  });

  it("stores keys of several profiles and lists those of configuration and environment", async () => {
    writeFileSync(
      join(home.dir, "rookery.json5"),
      '{ models: { providers: { local: { api: "openai-completions", baseUrl: "http://h", apiKey: { env: "K" } } } } }',
    );
    await run(["models", "keys", "add", "anthropic", "--profile", "work"], { input: KEY });
    const { out } = await run(["models", "keys", "list", "--json"], { env: { OPENAI_API_KEY: KEY } });
    const { items: keys } = JSON.parse(out) as { items: { provider: string; profile: string; key?: string }[] };
    expect(keys.map(({ provider, profile, key }) => [provider, profile, key])).toEqual([
      ["local", "default", undefined],
      ["anthropic", "work", "***wxyz"],
      ["openai", "default", "***wxyz"],
    ]);
  });

  it("refuses an empty key and a key in place of a name", async () => {
    expect((await run(["models", "keys", "add", "anthropic"])).code).toBe(EXIT.usage);
    const wrong = await run(["models", "keys", "add", `=${KEY}`]);
    expect(wrong.code).toBe(EXIT.usage);
    expect(wrong.err).not.toContain("planted");
  });

  it("warns about an unknown provider", async () => {
    expect((await run(["models", "keys", "add", "antropic"], { input: KEY })).err).toContain(
      'the configuration has no provider "antropic"',
    );
  });
});

describe("rookery models", () => {
  it("prints which model is used and why, as text and as JSON", async () => {
    const configured = {
      models: {
        default: "local/fake",
        providers: {
          local: {
            api: "openai-completions",
            baseUrl: "http://127.0.0.1:9/v1",
            apiKey: { env: "K" },
            models: [{ id: "fake" }],
          },
        },
      },
    };
    writeFileSync(join(home.dir, "rookery.json5"), JSON.stringify(configured));
    const { out, code } = await run(["models"], { env: { K: KEY } });
    expect(code).toBe(EXIT.ok);
    expect(out).toContain("In use: local/fake, because models.default says so.");
    expect(out).toContain("key default: the environment variable K");
    const json = JSON.parse((await run(["models", "--json"])).out) as {
      using: object;
      providers: { keys: object[]; models: object[] }[];
    };
    expect(json.using).toEqual({ model: "local/fake", why: "models.default says so", fallbacks: [] });
    expect(json.providers[0]).toMatchObject({
      keys: [{ found: false }],
      models: [{ id: "fake", contextWindow: 200_000 }],
    });
    expect(out).not.toContain("planted");
  });

  it("says that the offline model is not an LLM, and uses a key from the environment", async () => {
    writeFileSync(join(home.dir, "rookery.json5"), "{ models: { default: 'offline' } }");
    expect((await run(["models"])).out).toContain("not an LLM");
    writeFileSync(join(home.dir, "rookery.json5"), "{}");
    const found = await run(["models"], { env: { ANTHROPIC_API_KEY: KEY } });
    expect(found.out).toContain("because the environment variable ANTHROPIC_API_KEY is set");
  });

  it("lists the models of one provider, and refuses an unknown provider", async () => {
    expect((await run(["models", "google"])).out).toContain("google/gemini-3.5-flash");
    expect((await run(["models", "nowhere"])).code).toBe(EXIT.failure);
  });
});

describe("rookery models login", () => {
  let server: AuthServer;
  beforeEach(async () => {
    server = await startAuthServer();
    vi.stubGlobal("fetch", server.redirected);
  });
  afterEach(async () => {
    vi.unstubAllGlobals();
    await server.close();
  });

  it("takes a pasted code, shows the login with its expiry, and ends it", async () => {
    const pasted = { input: "http://127.0.0.1:1/?code=c1\n" };
    const made = await run(["models", "login", "openrouter", "--json"], pasted);
    expect(made).toMatchObject({ code: EXIT.ok });
    expect(JSON.parse(made.out)).toMatchObject({ provider: "openrouter", profile: "default", expiresAt: null });
    expect(made.err).toContain("OpenRouter permits this login for any program");
    expect(made.err).toContain("https://openrouter.ai/auth?");
    expect(made.out + made.err).not.toContain(PLANTED);
    expect(statSync(join(home.dir, "logins.json")).mode & 0o777).toBe(0o600);
    expect((await run(["models", "logins"])).out).toBe("openrouter  default  does not expire\n");
    const { items } = JSON.parse((await run(["models", "logins", "--json"])).out);
    expect(items).toMatchObject([{ provider: "openrouter", expiresAt: null }]);
    const listed = JSON.parse((await run(["models", "keys", "list", "--json"])).out) as { items: object[] };
    expect(listed.items).toMatchObject([{ provider: "openrouter", login: { state: "valid", expiresAt: null } }]);
    expect((await run(["models"])).out).toContain("because a key was set with");
    const ended = await run(["models", "logout", "openrouter", "--json"]);
    expect([ended.code, JSON.parse(ended.out)]).toEqual([
      EXIT.ok,
      { provider: "openrouter", profile: "default", removed: true },
    ]);
    expect((await run(["models", "logins"])).out).toContain("There are no logins.");
    expect(await run(["models", "logout", "openrouter", "--json"])).toMatchObject({ code: EXIT.failure, out: "" });
  });

  it("needs a yes where the provider has not said that it permits this", async () => {
    const refused = await run(["models", "login", "xai"]);
    expect(refused).toMatchObject({ code: EXIT.failure, out: "" });
    expect(refused.err).toContain("xAI has not said whether programs other than its own may use this login");
    expect(refused.err).toContain("--accept");
    expect(server.asked).toEqual([]);
  });

  it("says that a provider does not permit it, and what works", async () => {
    const { code, err } = await run(["models", "login", "anthropic", "--accept"]);
    expect(code).toBe(EXIT.failure);
    expect(err).toContain("Anthropic does not permit other programs to use the login of a Claude subscription.");
    expect(err).toContain("rookery models keys add anthropic");
  });

  it("shows expiry and the end of a login, in `models logins` and in `status`", async () => {
    const login = (expires: number, more: object = {}) => ({
      ...{ id: "1", seal: "s", loggedInAt: 1, renewals: 0, auth: {}, ...more },
      credential: { access: PLANTED, refresh: PLANTED, expires },
    });
    const logins = {
      xai: { default: login(Date.parse("2099-01-01T00:00:00Z")), work: login(5, { ended: { at: 5, why: "" } }) },
      meta: { default: login(Date.parse("2020-01-01T00:00:00Z")) },
    };
    writeFileSync(join(home.dir, "logins.json"), JSON.stringify({ version: 1, logins }));
    const { out } = await run(["models", "logins"]);
    expect(out).toContain("xai  default  expires 2099-01-01T00:00:00.000Z; refreshed before");
    expect(out).toContain(
      `xai  work  no longer accepted: log in again with \`rookery models login xai --profile work --home`,
    );
    expect(out).toContain("meta  default  expired 2020-01-01T00:00:00.000Z; refreshed with the next call");
    writeFileSync(join(home.dir, "rookery.json5"), "{ models: { default: 'offline' } }");
    await home.make(TERMINAL);
    const status = await run(["status"]);
    expect(status.out).toContain("Login     xai: expires 2099-01-01T00:00:00.000Z; refreshed before");
    expect(status.out).toContain("Login     xai: no longer accepted: log in again with");
    expect(out + status.out + status.err).not.toContain(PLANTED);
  });
});

printsDocumentsOf("models login", "models logout", "models logins");
