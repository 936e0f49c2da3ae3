/** One request through one route: who asks, may it, what does it bring; then the handler, and its answer or its error. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Buckets } from "../auth/buckets.ts";
import type { Principal } from "../auth/principal.ts";
import { holds } from "../auth/scope.ts";
import type { GatewayContext } from "../gateway-context.ts";
import { errorBody, HttpError, statusOf } from "./http-error.ts";
import type { Call, Reply, Route } from "./route.ts";

export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Whose request it is, for limits. */
  readonly address: string;
}

const NOBODY: Principal = { id: "nobody", name: "nobody", scopes: [] };
const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

export async function serveRoute(
  context: GatewayContext,
  failures: Buckets,
  route: Route,
  { incoming, outgoing, address }: Exchange,
  named: Readonly<Record<string, string>>,
): Promise<void> {
  try {
    const looking = context.tokens.lookFor(presentedBy(incoming));
    if (looking) await looking;
    const principal = authorise(context, failures, route, incoming, address);
    const raw =
      route.body || route.method !== "GET"
        ? await readBody(incoming, context.config().gateway.limits.bodyBytes)
        : EMPTY;
    const call: Call = {
      context,
      principal,
      params: checked(route.params, named, "path"),
      query: checked(route.query, queryOf(incoming.url ?? ""), "query"),
      body: route.body ? checked(route.body, jsonOf(route, incoming, raw), "body") : undefined,
      raw,
      incoming,
      outgoing,
      header: (name) => {
        const value = incoming.headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
    };
    send(outgoing, await route.handle(call));
  } catch (error) {
    sendError(context, outgoing, error, route.path);
  }
}

const presentedBy = ({ headers }: IncomingMessage): string | undefined => BEARER.exec(headers.authorization ?? "")?.[1];

/** The one place that decides who may call what. */
export function authorise(
  context: GatewayContext,
  failures: Buckets,
  route: Pick<Route, "access">,
  incoming: IncomingMessage,
  address: string,
): Principal {
  const { access } = route;
  if (access === "anonymous" || access === "hook") return NOBODY;
  const perMinute = context.config().gateway.limits.failuresPerMinute;
  const rate = { burst: perMinute, perSecond: perMinute / 60 };
  const wait = failures.wait(address, rate);
  if (wait > 0) {
    throw new HttpError(429, "too_many_failures", "Too many requests with a token that opens nothing.", {
      retryAfterMs: wait,
    });
  }
  const said = incoming.headers.authorization;
  const presented = presentedBy(incoming);
  const principal = presented === undefined ? undefined : context.tokens.find(presented);
  if (!principal) {
    failures.take(address, rate);
    throw new HttpError(401, "unauthorized", said === undefined ? "A token is needed." : "This token opens nothing.", {
      hint: "Send it as Authorization: Bearer …",
    });
  }
  if (access !== "any" && !holds(principal.scopes, access)) {
    throw new HttpError(
      403,
      "insufficient_scope",
      `This needs the scope ${access}; the token has ${principal.scopes.join(", ")}.`,
    );
  }
  return principal;
}

const EMPTY = Buffer.alloc(0);

/** Reads at most so much. What is more is refused before it has been taken in. */
function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else reject(new HttpError(413, "body_too_large", `The body is larger than ${limit} bytes.`));
    });
    incoming.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    incoming.on("error", (cause) => reject(new HttpError(400, "broken_off", "The request was broken off.", { cause })));
    incoming.on("close", () => {
      if (!incoming.complete) reject(new HttpError(400, "broken_off", "The request was broken off."));
    });
  });
}

const STRICT = new TextDecoder("utf-8", { fatal: true });

function jsonOf(route: Route, incoming: IncomingMessage, raw: Buffer): unknown {
  if (raw.length === 0 && route.bodyOptional) return {};
  const type = incoming.headers["content-type"] ?? "";
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
    throw new HttpError(415, "not_json", "The body must be JSON.", {
      hint: "Send it with Content-Type: application/json.",
    });
  }
  try {
    return JSON.parse(STRICT.decode(raw)) as unknown;
  } catch (cause) {
    throw new HttpError(400, "bad_json", "The body is not valid JSON.", { cause });
  }
}

function queryOf(url: string): Readonly<Record<string, string>> {
  const at = url.indexOf("?");
  if (at < 0) return {};
  const values: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    if (Object.hasOwn(values, name))
      throw new HttpError(400, "invalid_input", `"${name.slice(0, 50)}" stands in the query twice.`);
    Object.defineProperty(values, name, { value, enumerable: true, configurable: true });
  }
  return values;
}

function checked(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return value;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.map(String).join(".") || where;
  throw new HttpError(400, "invalid_input", `${param}: ${(issue?.message ?? "is not as it should be").slice(0, 300)}`, {
    param,
  });
}

const SAFE_HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
} as const;

function send(outgoing: ServerResponse, reply: Reply): void {
  if ("answered" in reply || outgoing.headersSent || outgoing.destroyed) return;
  const { status = 200 } = reply;
  const isText = "text" in reply;
  const body = isText ? reply.text : JSON.stringify(reply.json);
  outgoing.writeHead(status, {
    ...SAFE_HEADERS,
    "content-type": isText ? reply.type : "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    ...("headers" in reply ? reply.headers : {}),
  });
  outgoing.end(body);
}

export function sendError(context: GatewayContext, outgoing: ServerResponse, error: unknown, where: string): void {
  const status = statusOf(error);
  if (status === 500) {
    const detail =
      error instanceof RookeryError || !(error instanceof Error) ? errorText(error) : (error.stack ?? error.message);
    context.ports.log.error("a request failed", { route: where, error: detail });
  }
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  const retryAfterMs = error instanceof HttpError ? error.retryAfterMs : undefined;
  const headers = {
    ...(retryAfterMs === undefined
      ? {}
      : { "retry-after": String(Math.ceil(retryAfterMs / 1000)), "retry-after-ms": String(Math.ceil(retryAfterMs)) }),
    ...(status === 401 ? { "www-authenticate": 'Bearer realm="rookery"' } : {}),
    // What was not read of the request must not be taken for the next one.
    ...(status === 413 || status === 400 ? { connection: "close" } : {}),
  };
  send(outgoing, { status, json: errorBody(error), headers });
}
