import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { writeKey } from "../../adapters/models/auth-file.ts";
import { openModels } from "../../adapters/models/open-models.ts";
import {
  PROTOCOLS,
  type Received,
  startWire,
  type Turn,
  type WireServer,
} from "../../adapters/models/wire.test-kit.ts";
import { jsonLog } from "../../adapters/system/json-log.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import { createHome } from "../../config/create-home.ts";
import { loadConfig } from "../../config/load-config.ts";
import { homePaths } from "../../config/paths.ts";
import type { Model } from "../../core/ports/model.ts";
import { openNode } from "./open-node.ts";

let home: string;
let servers: WireServer[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-secrets-"));
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
  rmSync(home, { recursive: true });
});

/** Every way a call can fail, with a provider that repeats the key in every response. */
const TROUBLES: Readonly<Record<string, (key: string) => Turn>> = {
  auth: (key) => ({ status: 401, body: { error: { type: "authentication_error", message: `bad key ${key}` } } }),
  forbidden: (key) => ({ status: 403, body: `<html>forbidden for ${key}</html>` }),
  rate: (key) => ({
    status: 429,
    headers: { "retry-after": "9", "x-key": key },
    body: { error: { type: "rate_limit_error", code: key, message: `slow down, ${key}` } },
  }),
  request: (key) => ({ status: 400, body: { error: { type: "invalid_request_error", message: `what is ${key}?` } } }),
  overflow: (key) => ({
    status: 400,
    body: { error: { type: "invalid_request_error", message: `prompt is too long: ${key}, 300000 tokens > 200000` } },
  }),
  broken: (key) => ({ status: 500, body: `stack trace at ${key}` }),
  overloaded: (key) => ({ status: 529, body: { error: { type: "overloaded_error", message: key } } }),
  moved: (key) => ({ status: 302, headers: { location: `http://127.0.0.1:9/?key=${key}` }, body: key }),
  inStream: (key) => ({ text: "half", ending: { error: { type: "api_error", message: `failed for ${key}` } } }),
  dropped: () => ({ text: "half", ending: "drop" }),
  malformed: (key) => ({ text: "half", raw: `data: {"broken": ${key}\n\n`, ending: "malformed" }),
};

/** The four sources of a key. */
const SOURCES = ["config", "env", "file", "stored"] as const;

const keyIn = ({ headers }: Received): string =>
  String(headers["x-api-key"] ?? headers.authorization ?? "").replace(/^Bearer /, "");

/** A retry delay longer than any run, so that the run ends at once. */
const withoutPatience = (model: Model): Model => ({
  async call(request, signal, onEvent) {
    const result = await model.call(request, signal, onEvent);
    return result.error ? { ...result, error: { ...result.error, retryAfterMs: 1e9 } } : result;
  },
});

it("keys never appear in history, database, logs, results or events, for every failure of every protocol", async () => {
  const troubles = Object.entries(TROUBLES);
  const env: Record<string, string> = {};
  const providers: Record<string, object> = {};
  const planted: string[] = [];
  for (const [index, protocol] of PROTOCOLS.entries()) {
    const server = await startWire(protocol, (received) => {
      const key = keyIn(received);
      const [, trouble] = troubles.find(([name]) => key.includes(`-${name}-`)) ?? [];
      return trouble?.(key) ?? { text: "fine" };
    });
    servers.push(server);
    for (const [n, [trouble]] of troubles.entries()) {
      const name = `p${index}${trouble.toLowerCase()}`;
      const source = SOURCES[(n + index) % SOURCES.length] ?? "config";
      // Without a typical form: it is masked only because it is known as a key.
      const key = `planted-${trouble}-${protocol}-${source}`;
      planted.push(key);
      if (source === "env") env[`PLANTED_${name}`] = key;
      if (source === "file") writeFileSync(join(home, `${name}.key`), `${key}\n`);
      if (source === "stored") writeKey(join(home, "auth.json"), name, "default", key);
      const apiKey = { config: key, env: { env: `PLANTED_${name}` }, file: { file: `${name}.key` }, stored: undefined }[
        source
      ];
      providers[name] = {
        api: protocol,
        baseUrl: server.baseUrl,
        models: [{ id: "m" }],
        ...(apiKey ? { apiKey } : {}),
      };
    }
  }
  // A server that does not answer, with a key in its address. The configuration refuses a password in an address.
  const secretUrl = "http://127.0.0.1:9/v1?key=planted-query";
  providers.away = { api: "openai-completions", baseUrl: secretUrl, apiKey: "planted-away", models: [{ id: "m" }] };
  planted.push("planted-query", "planted-away");

  const paths = homePaths(home);
  const config = { log: { level: "debug" }, models: { default: "away/m", providers } };
  writeFileSync(paths.config, JSON.stringify(config));
  const { config: loaded } = await loadConfig(paths, env);
  let err = "";
  const errors = { write: (more: string) => (err += more) };
  const heard: unknown[] = [];
  await createHome(paths);
  const log = jsonLog({ file: join(paths.logs, "rookery.log"), level: "debug", errors });
  const { model } = openModels({ settings: { current: loaded }, paths, clock: systemClock, log, env });
  const node = await openNode({
    model: withoutPatience(model),
    log,
    paths,
    config: loaded,
    env,
    connectors: [],
    errors,
    onFatal: (error) => heard.push(error),
  });
  node.agents.events.listen((event) => heard.push(event));
  const outcomes: string[] = [];
  try {
    const asked = Object.keys(providers).map(async (name) => {
      const descriptor = { type: "user", connector: "test", userId: name, channelId: name } as const;
      const body = { kind: "user", text: "hello", wishes: { model: `${name}/m` } } as const;
      const { result } = await node.agents.postAndAwait({ to: { descriptor }, body }, { timeoutMs: 60_000 });
      heard.push(result);
    });
    await Promise.all(asked);
    for (const { id, descriptor } of await node.ports.store.agents({ limit: 1_000 })) {
      const [run] = await node.ports.store.runs(id, { limit: 1 });
      outcomes.push(`${descriptor.type === "user" ? descriptor.userId : id}: ${run?.outcome}`);
    }
  } finally {
    await node.close();
  }
  expect(outcomes).toHaveLength(PROTOCOLS.length * troubles.length + 1);
  expect(outcomes.filter((outcome) => !/: error$/.test(outcome))).toEqual([]);
  const asked = new Set(servers.flatMap(({ received }) => received.map(keyIn)));
  for (const key of planted.filter((one) => !/query|away/.test(one))) expect(asked).toContain(key);

  const kept = readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((name) => !/^(auth\.json|rookery\.json5|.*\.key)$/.test(name) && statSync(join(home, name)).isFile())
    .map((name) => readFileSync(join(home, name), "latin1"));
  expect(kept.join("")).toContain("hello");
  const everything = [
    ...kept,
    err,
    inspect(heard, { depth: 20, maxStringLength: null }),
    inspect(loaded.models, { depth: 20 }).replace(secretUrl, ""),
  ].join("\n");
  expect(everything).toContain("Inference failed");
  // Compared one by one: the texts are long, and a failed assertion would print them.
  expect(planted.filter((key) => everything.includes(key))).toEqual([]);
  expect(everything.match(/.{0,40}planted.{0,40}/g) ?? []).toEqual([]);
});
