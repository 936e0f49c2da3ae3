import { afterEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../config/parse-config.ts";
import { silentLog } from "../../core/ports/log.ts";
import { systemClock } from "../system/system-clock.ts";
import { apiFor } from "./api-for.ts";
import { offlineModel } from "./offline-model.ts";
import { Providers } from "./providers.ts";
import { ModelRouter } from "./router.ts";
import { PROTOCOLS, type Protocol, startWire, type WireServer } from "./wire.test-kit.ts";

let server: WireServer | undefined;
afterEach(() => server?.close());

/** The limit of an answer that each provider gets. */
async function sentFor(protocol: Protocol, maxTokens: number | undefined, thinking?: string) {
  server = await startWire(protocol, () => ({ text: "fine" }));
  const provider = `{ api: "${protocol}", baseUrl: "${server.baseUrl}", apiKey: "sk-test-0123456789", models: [
    { id: "m", contextWindow: 200000, maxTokens: 30000, thinking: ["off", "low", "medium", "high"] }] }`;
  const text = `{ models: { providers: { house: ${provider} } } }`;
  const { config } = parseConfig({ text, file: "rookery.json5", env: {} });
  const secrets = { env: {}, readFile: () => "" };
  const router = new ModelRouter({
    deps: { clock: systemClock, fetch, userAgent: "rookery/test" },
    log: silentLog,
    providers: new Providers(config.models, { clock: systemClock, secrets, storedKeys: () => ({}) }),
    apiFor,
    detect: async () => "offline",
    offline: offlineModel,
  });
  const result = await router.call(
    {
      model: "house/m",
      system: "",
      messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      tools: [],
      sessionId: "s",
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(thinking === undefined ? {} : { thinking }),
    },
    new AbortController().signal,
    () => {},
  );
  expect(result.error).toBeUndefined();
  const { body } = server.received[0] ?? {};
  return {
    limit: body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens,
    thinking: body.thinking?.budget_tokens as number | undefined,
  };
}

describe("the limit of an answer", () => {
  it.each(PROTOCOLS)("is sent to %s: the model's own, or less if the request asks for less", async (protocol) => {
    expect((await sentFor(protocol, undefined)).limit).toBe(30_000);
    await server?.close();
    expect((await sentFor(protocol, 777)).limit).toBe(777);
    await server?.close();
    expect((await sentFor(protocol, 500_000)).limit).toBe(30_000);
  });

  it.each(PROTOCOLS)("includes thinking for %s", async (protocol) => {
    const sent = await sentFor(protocol, 5_000, "high");
    expect(sent.limit).toBe(5_000);
    if (sent.thinking !== undefined) expect(sent.thinking).toBeLessThan(5_000);
  });
});
