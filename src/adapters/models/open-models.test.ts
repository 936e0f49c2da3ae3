import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openNode } from "../../app/node/open-node.ts";
import { loadConfig } from "../../config/load-config.ts";
import { homePaths } from "../../config/paths.ts";
import { stdinConnector } from "../connectors/stdin/stdin-connector.ts";
import { writeKey } from "./auth-file.ts";
import { type Protocol, type Script, startWire, type WireServer } from "./wire.test-kit.ts";

let home: string;
let servers: WireServer[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-models-"));
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
  rmSync(home, { recursive: true });
});

async function wire(protocol: Protocol, script: Script): Promise<WireServer> {
  const server = await startWire(protocol, script);
  servers.push(server);
  return server;
}

interface Said {
  readonly out: string;
  readonly err: string;
}

/** Runs one process: it answers the piped input and closes everything. */
async function run(config: object, text: string, env: Record<string, string> = {}): Promise<Said> {
  const paths = homePaths(home);
  writeFileSync(paths.config, JSON.stringify(config));
  const { config: loaded } = await loadConfig(paths, env);
  let out = "";
  let err = "";
  const errors = { write: (more: string) => (err += more) };
  async function* input() {
    yield text;
  }
  const connector = stdinConnector({
    input: input(),
    output: { write: (more) => (out += more) },
    errors,
    user: "owner",
    lines: true,
  });
  const node = await openNode({ paths, config: loaded, env, connectors: [connector], errors, onFatal: () => {} });
  try {
    await connector.finished;
    await node.agents.settled();
    expect(inspect(loaded, { depth: 20 })).not.toContain("planted");
  } finally {
    await node.close();
  }
  return { out, err };
}

/** All files of the home except the key file and the configuration. */
function everythingKept(): string {
  return readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((name) => name !== "auth.json" && name !== "rookery.json5" && statSync(join(home, name)).isFile())
    .map((name) => readFileSync(join(home, name), "latin1"))
    .join("\n");
}

describe("a node with a configured model", () => {
  it("works with the smallest configuration", async () => {
    const server = await wire("openai-completions", () => ({ text: "Hello from the model." }));
    const config = {
      models: {
        default: "local/fake",
        providers: {
          local: {
            api: "openai-completions",
            baseUrl: server.baseUrl,
            apiKey: { env: "K" },
            models: [{ id: "fake", contextWindow: 200_000, maxTokens: 8_192 }],
          },
        },
      },
    };
    expect((await run(config, "hello\n", { K: "sk-planted-1" })).out).toContain("Hello from the model.");
    expect(server.received[0]?.headers.authorization).toBe("Bearer sk-planted-1");
    expect(server.received[0]?.headers["user-agent"]).toMatch(/^rookery\/\d+\.\d+\.\d+$/);
    expect(server.received[0]?.body).toMatchObject({ model: "fake", stream: true });
  });

  it("continues a conversation with another provider, with thinking in the history", async () => {
    const first = await wire("anthropic-messages", (_, n) =>
      n === 1
        ? { thinking: "A deep thought.", text: "From the first." }
        : { status: 401, body: { error: { type: "authentication_error", message: "no" } } },
    );
    const second = await wire("openai-responses", () => ({ text: "From the second." }));
    const config = {
      models: {
        default: "one/a",
        fallbacks: ["two/b"],
        providers: {
          one: { api: "anthropic-messages", baseUrl: first.baseUrl, apiKey: { env: "K" }, models: [{ id: "a" }] },
          two: { api: "openai-responses", baseUrl: second.baseUrl, apiKey: { env: "K" }, models: [{ id: "b" }] },
        },
      },
    };
    const { out } = await run(config, "hello\nand now\n", { K: "sk-planted-2" });
    expect(out).toContain("From the first.");
    expect(out).toContain("From the second.");
    const sent = JSON.stringify(second.received[0]?.body);
    expect(sent).toContain("A deep thought.");
    expect(sent).not.toContain("c2lnbmVk");
    expect(first.received).toHaveLength(2);
  });

  it("keeps keys out of history, database, logs and answers, even if a provider repeats them", async () => {
    const planted = {
      config: "sk-planted-in-configuration",
      env: "planted-in-environment-0815",
      stored: "planted-in-auth-file-0816",
      file: "planted-in-file-0817",
    };
    const server = await wire("openai-completions", ({ headers }) => {
      const key = headers.authorization ?? "";
      if (key.includes("0817")) return { text: "Fine." };
      if (key.includes("0816")) return { status: 400, body: `what is ${key}?` };
      return { status: 401, body: { error: { message: `The key ${key} is not valid, ${key}` } } };
    });
    writeFileSync(join(home, "key.txt"), `${planted.file}\n`);
    const provider = (extra: object) => ({
      api: "openai-completions",
      baseUrl: server.baseUrl,
      models: [{ id: "m" }],
      ...extra,
    });
    const config = {
      models: {
        default: "a/m",
        fallbacks: ["b/m"],
        providers: {
          a: provider({ apiKey: planted.config, apiKeys: { second: { env: "PLANTED" } } }),
          b: provider({}),
          c: provider({ apiKey: { file: "key.txt" } }),
        },
      },
    };
    writeKey(join(home, "auth.json"), "b", "default", planted.stored);
    const failed = await run(config, "hello\n", { PLANTED: planted.env });
    expect(failed.out + failed.err).toContain("rookery models keys add a");
    const worked = await run({ models: { ...config.models, default: "c/m" } }, "again\n", { PLANTED: planted.env });
    expect(worked.out).toContain("Fine.");
    rmSync(join(home, "key.txt"));
    const everything = [failed.out, failed.err, worked.out, worked.err, everythingKept()].join("\n");
    for (const key of Object.values(planted)) expect(everything).not.toContain(key);
    expect(everything).not.toContain("planted");
  });

  it("uses the offline model only if nothing is configured", async () => {
    expect((await run({ models: { default: "offline" } }, "hello\n")).out).toContain("not an LLM");
    const { out, err } = await run({ models: { default: "anthropic/claude-sonnet-5" } }, "hello\n");
    expect(out + err).toContain("There is no key for anthropic.");
  });
});
