/** Valid inputs that the fuzzer corrupts: a body for every route that takes one, and a configuration. */

export const RUN = "00000000-0000-7000-8000-000000000000";

/** Bodies with more fields than the example of their route. */
export const GOOD_BODIES: Readonly<Record<string, object>> = {
  "POST /v1/chat/completions": {
    model: "main",
    user: "fuzz",
    stream: false,
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content: [{ type: "text", text: "hi" }] },
    ],
  },
  "POST /v1/responses": {
    model: "main",
    user: "fuzz",
    stream: true,
    instructions: "be brief",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
  },
  "POST /api/agents/:agent/messages": {
    text: "hi",
    sender: { id: "x", name: "X" },
    queue: { mode: "queue", debounceMs: 0 },
    waitSeconds: 0,
  },
  "POST /api/agents/:agent/compact": { instructions: "keep names" },
  "POST /api/tokens": {
    name: "t",
    scopes: ["chat"],
    expiresInDays: 1,
    person: "p",
    limits: { requestsPerMinute: 5, tokensPerDay: 10, dollarsPerDay: 1 },
  },
};

export const GOOD_CONFIG = {
  gateway: {
    port: 7717,
    host: "127.0.0.1",
    tls: { cert: "c", key: "k" },
    trustedProxies: ["10.0.0.1"],
    allowedOrigins: ["https://x.example"],
    limits: { bodyBytes: 2048, perToken: { requestsPerMinute: 3 } },
  },
  models: {
    default: "local/fake",
    fallbacks: ["offline"],
    providers: {
      local: {
        api: "openai-completions",
        baseUrl: "http://127.0.0.1:9/v1",
        apiKey: { env: "K" },
        models: [{ id: "fake", contextWindow: 200000, maxTokens: 8192, cost: { input: 1 } }],
      },
    },
  },
  profiles: {
    main: {
      model: "local/fake",
      prompt: "p",
      tools: { allow: ["read"], deny: ["write"] },
      limits: { timeoutSeconds: 5 },
    },
  },
  bindings: [{ profile: "main", match: { channel: "telegram", peer: { kind: "dm", id: "1" } } }],
  session: {
    dmScope: "per-peer",
    identityLinks: { ann: ["telegram:1"] },
    reset: { mode: "daily", byType: { dm: { mode: "idle" } } },
  },
  queue: { mode: "collect", byChannel: { telegram: "steer" } },
  store: { url: { env: "DB" } },
};
