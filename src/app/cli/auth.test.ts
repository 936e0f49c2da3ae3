import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cliHome, type RunOptions, runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const KEY = "sk-planted-0123456789-abcdef-wxyz";

const home = cliHome();
const run = (argv: readonly string[], around: RunOptions = {}) =>
  runCommand([...argv, "--home", home.dir], { input: "", ...around });

describe("rookery auth", () => {
  it("stores a key from standard input, lists it masked, and removes it", async () => {
    expect(await run(["auth", "set", "anthropic"], { input: `${KEY}\n` })).toMatchObject({ code: EXIT.ok, err: "" });
    expect(statSync(join(home.dir, "auth.json")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(home.dir, "auth.json"), "utf8")).toContain(KEY);
    const list = await run(["auth", "list"]);
    expect(list.out).toMatch(/^anthropic {2}default {2}\*\*\*wxyz {2}/);
    expect(list.out).not.toContain("planted");
    expect(await run(["auth", "remove", "anthropic"])).toMatchObject({ code: EXIT.ok });
    expect((await run(["auth", "list"])).out).toContain("There are no keys");
    expect((await run(["auth", "remove", "anthropic"])).code).toBe(EXIT.failure);
  });

  it("stores keys of several profiles and lists those of configuration and environment", async () => {
    writeFileSync(
      join(home.dir, "rookery.json5"),
      '{ models: { providers: { local: { api: "openai-completions", baseUrl: "http://h", apiKey: { env: "K" } } } } }',
    );
    await run(["auth", "set", "anthropic", "--profile", "work"], { input: KEY });
    const { out } = await run(["auth", "list", "--json"], { env: { OPENAI_API_KEY: KEY } });
    const { items: keys } = JSON.parse(out) as { items: { provider: string; profile: string; key?: string }[] };
    expect(keys.map(({ provider, profile, key }) => [provider, profile, key])).toEqual([
      ["local", "default", undefined],
      ["anthropic", "work", "***wxyz"],
      ["openai", "default", "***wxyz"],
    ]);
  });

  it("refuses an empty key and a key in place of a name", async () => {
    expect((await run(["auth", "set", "anthropic"])).code).toBe(EXIT.usage);
    const wrong = await run(["auth", "set", `=${KEY}`]);
    expect(wrong.code).toBe(EXIT.usage);
    expect(wrong.err).not.toContain("planted");
  });

  it("warns about an unknown provider", async () => {
    expect((await run(["auth", "set", "antropic"], { input: KEY })).err).toContain(
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
    writeFileSync(join(home.dir, "rookery.json5"), "{ models: { detect: false } }");
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
