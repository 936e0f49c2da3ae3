import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { systemClock } from "../system/system-clock.ts";
import { detectModel, listensOn } from "./detect.ts";

type DetectDeps = Parameters<typeof detectModel>[0];

/** Answers by the port of the requested address; every other port refuses the connection. */
function machine(
  ports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  env: DetectDeps["env"] = {},
): DetectDeps & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    clock: systemClock,
    env,
    listens: async (_, port) => Object.hasOwn(ports, String(port)),
    fetch: async (input) => {
      const url = new URL(String(input));
      asked.push(url.href);
      const body = ports[url.port]?.[url.pathname];
      return body === undefined ? new Response("", { status: 404 }) : Response.json(body);
    },
  };
}

const listing = (owned_by: string, ...ids: readonly string[]) => ({
  "/v1/models": { object: "list", data: ids.map((id) => ({ id, owned_by })) },
});

describe("detecting a model", () => {
  it.each<[string, string]>([
    ["ANTHROPIC_API_KEY", "anthropic/"],
    ["OPENAI_API_KEY", "openai/"],
    ["GEMINI_API_KEY", "google/"],
    ["GOOGLE_API_KEY", "google/"],
    ["OPENROUTER_API_KEY", "openrouter/"],
  ])("finds the provider of %s", async (variable, prefix) => {
    const world = machine({ 11434: listing("library", "llama") }, { [variable]: "sk-1" });
    const { model, why } = await detectModel(world);
    expect(model.startsWith(prefix)).toBe(true);
    expect(why).toContain(variable);
    expect(world.asked).toEqual([]);
  });

  it("finds a stored key", async () => {
    const found = await detectModel({ ...machine({}), hasKey: (provider) => provider === "openai" });
    expect(found.model).toMatch(/^openai\//);
  });

  it.each([
    ["11434", "ollama", "library"],
    ["1234", "lmstudio", "organization_owner"],
    ["8080", "llamacpp", "llamacpp"],
  ])("finds the server at port %s", async (port, provider, owner) => {
    const found = await detectModel(machine({ [port]: listing(owner, "nomic-embed-text", "qwen") }));
    expect(found).toMatchObject({ model: `${provider}/qwen`, server: { provider, models: ["qwen"] } });
    expect(found.why).toContain(`127.0.0.1:${port}`);
  });

  it("asks llama.cpp for its context window", async () => {
    const props = { "/props": { default_generation_settings: { n_ctx: 16_384 } } };
    const found = await detectModel(machine({ 8080: { ...listing("llamacpp", "q"), ...props } }));
    expect(found.server?.contextWindow).toBe(16_384);
  });

  it.each<[string, Readonly<Record<string, Readonly<Record<string, unknown>>>>]>([
    ["no port is open", {}],
    ["another program uses port 8080", { 8080: listing("me", "app") }],
    ["a server has no models", { 11434: listing("library") }],
    ["a server uses another protocol", { 1234: { "/v1/models": { hello: "world" } } }],
    ["a server sends malformed data", { 1234: { "/v1/models": { data: [null, 7, { id: 3 }, { id: "" }] } } }],
  ])("uses the offline model if %s", async (_, ports) => {
    const found = await detectModel(machine(ports));
    expect(found).toEqual({ model: "offline", why: expect.stringContaining("no model is configured") });
  });

  it("does not wait for a server that does not answer", async () => {
    const clock = virtualClock();
    const asked = Promise.withResolvers<void>();
    const world: DetectDeps = {
      ...machine({ 11434: {} }),
      clock,
      fetch: (_, init) =>
        new Promise((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
          asked.resolve();
        }),
    };
    const looking = detectModel(world);
    await asked.promise;
    clock.advanceSync(1_000);
    expect(await looking).toMatchObject({ model: "offline" });
    expect(clock.timers).toBe(0);
  });
});

describe("listensOn", () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  it("distinguishes an open port from a closed one", async () => {
    const made = createServer();
    server = made;
    await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
    const { port } = made.address() as AddressInfo;
    const { signal } = new AbortController();
    expect(await listensOn("127.0.0.1", port, signal)).toBe(true);
    await new Promise((resolve) => made.close(resolve));
    expect(await listensOn("127.0.0.1", port, signal)).toBe(false);
  });
});
