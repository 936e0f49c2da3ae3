/** The targets of the fuzzer: the bodies of every route, headers, paths and queries, and the configuration file. */

import { connect } from "node:net";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { ROUTES } from "../../src/app/gateway/route-table.ts";
import { isStream } from "../../src/app/gateway/routing/output.ts";
import type { Route } from "../../src/app/gateway/routing/route.ts";
import { configTarget } from "./config-target.ts";
import { GOOD_BODIES, RUN } from "./good-inputs.ts";
import { anyValue, garbled, spoilt } from "./random-json.ts";
import { count, type Target } from "./target.ts";

const AGENT = "agent:main:api:dm:fuzz";

const pathOf = (path: string): string =>
  path.replace(
    /:(\w+)/g,
    (_, name: string) =>
      ({ agent: encodeURIComponent(AGENT), run: RUN, token: "000000000000", seq: "1", delivery: "x.0" })[name] ??
      "main",
  );

/** Opens a gateway for the targets, and closes it. */
export async function withTargets<T>(work: (targets: readonly Target[]) => Promise<T>): Promise<T> {
  const unlimited = 1_000_000;
  const kit = await openTestGateway({
    limits: { requestsPerSecond: unlimited, failuresPerMinute: unlimited },
  });
  try {
    await kit.ask({
      method: "POST",
      path: "/v1/chat/completions",
      body: { model: "main", user: "fuzz", messages: [{ role: "user", content: "hello" }] },
    });
    const bodies = ROUTES.filter(({ body }) => body).map((route) => bodyTarget(kit, route));
    return await work([...bodies, headerTarget(kit), addressTarget(kit), configTarget]);
  } finally {
    await kit.close();
  }
}

function bodyTarget(kit: TestGateway, { method, path, example = {} }: Route): Target {
  const name = `${method} ${path}`;
  const good = GOOD_BODIES[name] ?? example;
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
      const route = random.of(ROUTES.filter((route) => !isStream(route)));
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
      const route = random.of(ROUTES.filter((one) => !isStream(one) && !one.path.endsWith("/wait")));
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

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Writes bytes and reads until the server closes. `mayPromiseMore`: the headers may announce more than is sent. */
function raw(port: number, head: readonly string[], body: Buffer, mayPromiseMore = false): Promise<Answer> {
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
    // As latin1: bytes that are not UTF-8 must reach the server unchanged.
    socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]));
    if (mayPromiseMore) socket.end();
  });
}

/** A word, or the number of an error of JSON-RPC. */
const CLEAR_CODE = /"code":(?:"[a-z_]+"|-32\d{3})/;

function judge(seen: Map<string, number>, { status, body }: Answer, sent: string): string | undefined {
  count(seen, status === 0 ? "no answer" : `${Math.floor(status / 100)}xx`);
  const about = `${status} to ${JSON.stringify(sent.slice(0, 600))}: ${body.slice(0, 300)}`;
  // No answer: the request ended before its announced length.
  if (status === 0) return undefined;
  if (status >= 500) return `not a 4xx: ${about}`;
  if (status >= 400 && body.includes('"error"') && !CLEAR_CODE.test(body)) return `no clear error: ${about}`;
  return undefined;
}
