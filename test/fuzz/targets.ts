/** What is fuzzed: every body, the headers and addresses of requests, and the configuration file. Each try says what was wrong, if anything was. */
import { connect } from "node:net";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { compareConfigs, liveConfig } from "../../src/app/gateway/reload.ts";
import { ROUTES } from "../../src/app/gateway/route-table.ts";
import { checkConfig, formatNote } from "../../src/config/parse-config.ts";
import { STARTER_CONFIG } from "../../src/config/starter-config.ts";
import type { Random } from "./random.ts";
import { anyValue, garbled, spoilt } from "./random-json.ts";

export interface Target {
  readonly name: string;
  /** What came back, by kind: to see that what was tried was really tried. */
  readonly seen: Map<string, number>;
  /** Resolves with what was wrong, or with nothing. */
  tryOnce(random: Random): Promise<string | undefined>;
}

const AGENT = "agent:main:api:dm:fuzz";
const RUN = "00000000-0000-7000-8000-000000000000";

/** What routes take that are not named below: the shape of a job. */
const GOOD_JOB = {
  name: "j",
  enabled: false,
  schedule: { kind: "cron", expr: "0 4 * * *", tz: "UTC" },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "hi", timeoutSeconds: 5 },
};

/** A body that is right, by route. */
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
  "POST /api/runs/:run/steer": { text: "left" },
  "POST /api/agents/:agent/compact": { instructions: "keep names" },
  "POST /api/agents/:agent/branch": { entryId: RUN, summary: "what was left" },
  "POST /api/subagents/:run/messages": { text: "deeper" },
  "POST /api/heartbeat/run": { profile: "main" },
  "POST /api/wake": { text: "the build is red", mode: "now", profile: "main" },
  "PATCH /api/agents/:agent/state": {
    thinkingLevel: "low",
    queueMode: "collect",
    label: "x",
    queueCap: 5,
    modelOverride: null,
  },
  "POST /api/budgets/:key/lift": { tokens: 10, dollars: 1 },
  "POST /api/tokens": {
    name: "t",
    scopes: ["chat"],
    expiresInDays: 1,
    person: "p",
    limits: { requestsPerMinute: 5, tokensPerDay: 10, dollarsPerDay: 1 },
  },
};

const pathOf = (path: string): string =>
  path.replace(
    /:(\w+)/g,
    (_, name: string) =>
      ({ agent: encodeURIComponent(AGENT), run: RUN, token: "000000000000", seq: "1", delivery: "x.0" })[name] ??
      "main",
  );

/** Opens what is fuzzed, and closes it. */
export async function withTargets<T>(work: (targets: readonly Target[]) => Promise<T>): Promise<T> {
  const most = 1_000_000;
  const kit = await openTestGateway({
    config: { gateway: { limits: { requestsPerSecond: most, failuresPerMinute: most } } },
  });
  try {
    await kit.ask({
      method: "POST",
      path: "/v1/chat/completions",
      body: { model: "main", user: "fuzz", messages: [{ role: "user", content: "hello" }] },
    });
    const bodies = ROUTES.filter(({ body }) => body).map((route) => bodyTarget(kit, `${route.method} ${route.path}`));
    return await work([...bodies, headerTarget(kit), addressTarget(kit), configTarget]);
  } finally {
    await kit.close();
  }
}

function bodyTarget(kit: TestGateway, name: string): Target {
  const [method = "", path = ""] = name.split(" ");
  const good = GOOD_BODIES[name] ?? GOOD_JOB;
  const seen = new Map<string, number>();
  return {
    name: `body of ${name}`,
    seen,
    async tryOnce(random) {
      const kind = random.below(4);
      const text =
        kind === 0
          ? garbled(random, JSON.stringify(good))
          : Buffer.from(JSON.stringify(kind === 1 ? anyValue(random) : spoilt(random, good)) ?? "");
      const answer = await raw(
        kit.gateway.port,
        [
          `${method} ${pathOf(path)} HTTP/1.1`,
          "Host: 127.0.0.1",
          `Authorization: Bearer ${ROOT_TOKEN}`,
          "Content-Type: application/json",
          `Content-Length: ${text.length}`,
          "Connection: close",
        ],
        text,
      );
      return judge(seen, answer, text.toString("latin1"));
    },
  };
}

const HEADERS = [
  "Authorization",
  "Host",
  "Origin",
  "Content-Length",
  "Content-Type",
  "Transfer-Encoding",
  "Idempotency-Key",
  "Last-Event-ID",
  "X-Stainless-Retry-Count",
  "X-Forwarded-For",
  "Connection",
  "Expect",
  "Upgrade",
  "Cookie",
  "Accept",
  "Range",
  "Sec-Fetch-Site",
  "If-Match",
];
const VALUES = [
  `Bearer ${ROOT_TOKEN}`,
  "Bearer",
  "bearer x",
  "127.0.0.1",
  "evil.example",
  "null",
  "0",
  "-1",
  "99999999999",
  "1e9",
  "chunked",
  "gzip",
  "application/json",
  "text/plain",
  "100-continue",
  "websocket",
  "h2c",
  "close",
  "keep-alive",
  "bytes=0-1",
  "cross-site",
  "a".repeat(3_000),
];

function headerTarget(kit: TestGateway): Target {
  const body = Buffer.from(JSON.stringify(GOOD_BODIES["POST /v1/chat/completions"]));
  const seen = new Map<string, number>();
  return {
    name: "headers",
    seen,
    async tryOnce(random) {
      const route = random.of(ROUTES.filter(({ answers }) => answers.type !== "text/event-stream"));
      const lines = [
        `${random.below(20) === 0 ? random.text(8) : route.method} ${pathOf(route.path)} HTTP/1.1`,
        ...(random.below(8) === 0 ? [] : ["Host: 127.0.0.1"]),
        ...(random.below(4) === 0 ? [] : [`Authorization: Bearer ${ROOT_TOKEN}`]),
        ...Array.from(
          { length: random.below(6) },
          () =>
            `${random.below(5) === 0 ? random.text(12) : random.of(HEADERS)}: ${random.below(3) === 0 ? random.text(60) : random.of(VALUES)}`,
        ),
        ...(random.below(4) === 0 ? [] : ["Content-Type: application/json", `Content-Length: ${body.length}`]),
        "Connection: close",
      ];
      return judge(
        seen,
        await raw(kit.gateway.port, lines, random.below(3) === 0 ? Buffer.alloc(0) : body, true),
        lines.join("\n"),
      );
    },
  };
}

function addressTarget(kit: TestGateway): Target {
  const names = ["limit", "after", "before", "state", "agent", "kind", "timeoutMs", "token", "x"];
  const seen = new Map<string, number>();
  return {
    name: "paths and queries",
    seen,
    async tryOnce(random) {
      const route = random.of(
        ROUTES.filter(({ answers, path }) => answers.type !== "text/event-stream" && !path.endsWith("/wait")),
      );
      const path = route.path.replace(/:(\w+)/g, () =>
        random.below(3) === 0 ? "main" : encodeURIComponent(random.text(20).toWellFormed()) || "x",
      );
      const query = Array.from(
        { length: random.below(4) },
        () =>
          `${random.of(names)}=${random.below(2) === 0 ? random.below(1_000) : encodeURIComponent(random.text(12).toWellFormed())}`,
      );
      const garbage = random.below(5) === 0 ? random.text(10).replace(/[\s\r\n]/g, "") : "";
      const line = `${route.method} ${path}${garbage}${query.length > 0 ? `?${query.join("&")}` : ""} HTTP/1.1`;
      const head = [
        line,
        "Host: 127.0.0.1",
        `Authorization: Bearer ${ROOT_TOKEN}`,
        "Content-Type: application/json",
        "Content-Length: 2",
        "Connection: close",
      ];
      return judge(seen, await raw(kit.gateway.port, head, Buffer.from("{}")), line);
    },
  };
}

const BASE = checkConfig({ text: STARTER_CONFIG, file: "rookery.json5", env: {} }).config;
const GOOD_CONFIG = {
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

const configSeen = new Map<string, number>();

const configTarget: Target = {
  name: "the configuration file",
  seen: configSeen,
  async tryOnce(random) {
    const kind = random.below(4);
    const text =
      kind === 0
        ? garbled(random, STARTER_CONFIG).toString("utf8")
        : kind === 1
          ? garbled(random, JSON.stringify(GOOD_CONFIG)).toString("utf8")
          : JSON.stringify(kind === 2 ? spoilt(random, GOOD_CONFIG) : anyValue(random));
    try {
      const { config, errors, warnings } = checkConfig({ text: text ?? "", file: "rookery.json5", env: {} });
      count(configSeen, config ? "used" : "refused");
      if (!config && errors.length === 0) return `neither used nor refused: ${text}`;
      for (const note of [...errors, ...warnings]) {
        if (!/^rookery\.json5:\d+:\d+: ./.test(formatNote(note))) return `said no place: ${formatNote(note)}`;
      }
      if (config && BASE) {
        compareConfigs(BASE, config);
        liveConfig(BASE, config);
        JSON.stringify(config);
      }
      return undefined;
    } catch (error) {
      return `threw ${(error as Error).stack} for ${text}`;
    }
  },
};

const count = (seen: Map<string, number>, what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Writes bytes and reads what comes until the other side closes. */
function raw(port: number, head: readonly string[], body: Buffer, promisesMore = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`No answer within 20 s to ${head.join("\n")}`));
    }, 20_000);
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      const text = Buffer.concat(chunks).toString("utf8");
      const at = text.indexOf("\r\n\r\n");
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ""))?.[1] ?? 0),
        body: text.slice(at + 4),
      });
    });
    // Bytes, not characters: what is no character must reach the other side as it is.
    socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]));
    // A request that may promise more than it brings is not waited for.
    if (promisesMore) socket.end();
  });
}

function judge(seen: Map<string, number>, { status, body }: Answer, sent: string): string | undefined {
  count(seen, status === 0 ? "no answer" : `${Math.floor(status / 100)}xx`);
  const about = `${status} to ${JSON.stringify(sent.slice(0, 600))}: ${body.slice(0, 300)}`;
  // Nothing at all: the sender went away in the middle of its own request.
  if (status === 0) return undefined;
  if (status >= 500) return `not a 4xx: ${about}`;
  if (status >= 400 && body.includes('"error"') && !/"code":"[a-z_]+"/.test(body)) return `no clear error: ${about}`;
  return undefined;
}
