import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Config, configSchema } from "../../config/config-schema.ts";
import { isUnder, LIVE_KEYS, START_KEYS } from "../../config/live-keys.ts";
import { parseConfig } from "../../config/parse-config.ts";
import { homePaths } from "../../config/paths.ts";
import { keysOf, schemaTree } from "../../config/schema-tree.ts";
import { type Serving, serve } from "../library/serve.ts";
import { askHttp, ROOT_TOKEN } from "./gateway.test-kit.ts";
import { compareConfigs, liveConfig } from "./reload.ts";

const parse = (text: string): Config => parseConfig({ text, file: "x", env: {} }).config;

describe("comparing configurations", () => {
  it("lists changed keys, and compares secrets by their reference", () => {
    const before = parse(
      `{ store: { url: { env: "A" } }, profiles: { main: { prompt: "one" } }, gateway: { port: 3 } }`,
    );
    const after = parse(
      `{ store: { url: { env: "B" } }, profiles: { main: { prompt: "two" } }, gateway: { port: 4 } }`,
    );
    expect(compareConfigs(before, before).changed).toEqual([]);
    expect(compareConfigs(before, after)).toEqual({
      changed: ["gateway.port", "profiles.main.prompt", "store.url"],
      reloaded: ["profiles.main.prompt"],
      needsRestart: ["gateway.port", "store.url"],
    });
    const merged = liveConfig(before, after);
    expect([merged.profiles.main?.prompt, merged.gateway.port]).toEqual(["two", 3]);
    expect(compareConfigs(merged, after).changed).toEqual(["gateway.port", "store.url"]);
  });

  it("every key of the schema either takes effect at once or needs a restart, and no other key is listed", () => {
    const entries = [...LIVE_KEYS, ...Object.keys(START_KEYS)];
    const paths = keysOf(schemaTree(configSchema), true).map(({ path }) => path);
    for (const path of paths)
      expect(
        entries.filter((entry) => isUnder(path, entry)),
        path,
      ).toHaveLength(1);
    for (const entry of entries)
      expect(
        paths.filter((path) => isUnder(path, entry)),
        entry,
      ).not.toHaveLength(0);
  });

  it("needs a restart to begin or to stop TLS, not for another certificate", () => {
    const plain = parse("{}");
    const first = parse(`{ gateway: { tls: { cert: "a", key: "b" } } }`);
    const second = parse(`{ gateway: { tls: { cert: "c", key: "b" } } }`);
    expect(compareConfigs(plain, first).needsRestart).toEqual(["gateway.tls.cert", "gateway.tls.key"]);
    expect(liveConfig(plain, first).gateway.tls).toBeUndefined();
    expect(compareConfigs(first, plain).needsRestart).toEqual(["gateway.tls.cert", "gateway.tls.key"]);
    expect(liveConfig(first, plain).gateway.tls).toEqual({ cert: "a", key: "b" });
    expect(compareConfigs(first, second).reloaded).toEqual(["gateway.tls.cert"]);
  });
});

describe("a serving process", () => {
  let home: string;
  let serving: Serving | undefined;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "rookery-reload-"));
  });
  afterEach(async () => {
    await serving?.close();
    serving = undefined;
    rmSync(home, { recursive: true, force: true });
  });
  const start = async (text: string) => {
    writeFileSync(join(home, "rookery.json5"), text);
    const env = { ROOKERY_TOKEN: ROOT_TOKEN };
    serving = await serve({
      paths: homePaths(home),
      config: parse(text),
      env,
      port: 0,
      onFatal: (error) => {
        throw error;
      },
    });
    return serving;
  };
  const send = async (running: Serving, text: string) => {
    const body = { model: "main", user: "ann", messages: [{ role: "user", content: text }] };
    return askHttp(running.gateway.port, { method: "POST", path: "/v1/chat/completions", body });
  };

  it("plans the due times of its jobs again in another time zone", async () => {
    const running = await start(`{ session: { timeZone: "Asia/Tokyo" } }`);
    const { port } = running.gateway;
    const body = { name: "x", schedule: "0 9 * * *", payload: { kind: "agentTurn", message: "work" } };
    const { json } = await askHttp(port, { method: "POST", path: "/api/cron", body });
    const { id } = json as { id: string };
    const nextTime = async () => {
      const { json: job } = await askHttp(port, { path: `/api/cron/${id}` });
      return (job as { nextTimes: { text: string }[] }).nextTimes[0]?.text;
    };
    expect(await nextTime()).toMatch(/ 09:00:00 \(Asia\/Tokyo\)$/u);
    writeFileSync(join(home, "rookery.json5"), `{ session: { timeZone: "America/New_York" } }`);
    const reloaded = await askHttp(port, { method: "POST", path: "/api/config/reload" });
    expect(reloaded.json).toMatchObject({ reloaded: ["session.timeZone"], needsRestart: [] });
    await expect.poll(nextTime).toMatch(/ 09:00:00 \(America\/New_York\)$/u);
  });

  it("serves its configuration with secrets masked", async () => {
    const text = `{ gateway: { port: 7717 }, models: { default: "local/fake", providers: { local: { api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1", apiKey: { env: "K" }, models: [{ id: "fake", contextWindow: 200000, maxTokens: 8192 }] } } } }`;
    const running = await start(text);
    const { json } = await askHttp(running.gateway.port, { path: "/api/config" });
    expect(json).toMatchObject({ gateway: { port: 7717, host: "127.0.0.1" }, models: { default: "local/fake" } });
    expect(JSON.stringify(json)).toContain('"apiKey":"***"');
    expect((await askHttp(running.gateway.port, { path: "/v1/models" })).json).toMatchObject({
      data: [{ id: "main" }],
    });
  });

  it("applies live keys, names those that need a restart, and ignores an invalid file", async () => {
    const running = await start(
      `{ models: { default: "offline" }, gateway: { limits: { perPerson: { requestsPerMinute: 1 } } } }`,
    );
    expect((await send(running, "one")).status).toBe(200);
    expect((await send(running, "two")).status).toBe(429);
    writeFileSync(
      join(home, "rookery.json5"),
      `{ models: { default: "offline" }, profiles: { work: {} }, runs: { restore: "discard" } }`,
    );
    const { json } = await askHttp(running.gateway.port, { method: "POST", path: "/api/config/reload", body: {} });
    expect(json).toMatchObject({ needsRestart: ["runs.restore"] });
    expect((await send(running, "three")).status).toBe(200);
    const models = await askHttp(running.gateway.port, { path: "/v1/models" });
    expect(models.text).toContain('"work"');
    writeFileSync(join(home, "rookery.json5"), "{ gateway: { port: 'x' } }");
    await expect(running.reload()).rejects.toMatchObject({ code: "config" });
    expect((await send(running, "four")).status).toBe(200);
  });

  it("reloads when the file changes", async () => {
    const running = await start(`{ models: { default: "offline" } }`);
    writeFileSync(join(home, "rookery.json5"), `{ models: { default: "offline" }, profiles: { seen: {} } }`);
    await expect
      .poll(async () => (await askHttp(running.gateway.port, { path: "/v1/models" })).text)
      .toContain('"seen"');
  });
});
