/** The gateway as functions: requests of this process as its owner, and the standard `fetch` for another server to mount. */
import { createHash } from "node:crypto";
import type { Transport } from "../../client/transport.ts";
import { CONTROL_HOST } from "../auth/control-headers.ts";
import { controlPolicy, requestPolicy } from "../auth/request-policy.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { requestListener } from "../routing/request-listener.ts";
import type { LazyRouter } from "../routing/router.ts";
import { exchangeLocally, type LocalResponse } from "./local-exchange.ts";

/** What the server that mounts the gateway knows about a request. Node adaptors of hono pass `incoming`. */
export interface FetchEnvironment {
  /** The address of the client, for rate limits. */
  readonly address?: string;
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
}

export type FetchHandler = (request: Request, env?: FetchEnvironment) => Promise<Response>;

export function ownerTransport(context: GatewayContext, router: LazyRouter): Transport {
  const policy = controlPolicy(context.settings.current);
  const listener = requestListener({ context, surface: "control", router, policy: () => policy, onRequestEnd() {} });
  return async ({ method, path, headers, body, signal }) => {
    const { status, body: answer } = await exchangeLocally(listener, {
      method,
      url: path,
      headers: { host: CONTROL_HOST, ...headers },
      body: body === undefined ? undefined : oneChunk(Buffer.from(body as string)),
      signal,
    });
    return { status, body: decoded(answer), bytes: () => bytesOf(answer) };
  };
}

/** Every request needs a token; its Host must be this machine's or one of `gateway.allowedHosts`. */
export function fetchHandler(context: GatewayContext, router: LazyRouter): FetchHandler {
  const listenerOf = (secure: boolean) =>
    requestListener({
      context,
      surface: "network",
      router,
      policy: () => requestPolicy(context.settings.current, CONTROL_HOST, secure),
      onRequestEnd() {},
    });
  const [plain, secure] = [listenerOf(false), listenerOf(true)];
  return async (request, env) => {
    const { protocol, host, pathname, search } = new URL(request.url);
    const headers = { host, ...Object.fromEntries(request.headers) };
    const response = await exchangeLocally(protocol === "https:" ? secure : plain, {
      method: request.method,
      url: pathname + search,
      headers,
      body: request.body ?? undefined,
      remoteAddress: env?.address ?? env?.incoming?.socket?.remoteAddress ?? callerName(headers),
      localAddress: "127.0.0.1",
      signal: request.signal,
    });
    return responseOf(response);
  };
}

/** Without an address each token is its own caller: one with a wrong token must not lock the others out. */
const callerName = ({ authorization = "" }: Readonly<Record<string, string>>): string =>
  createHash("sha256").update(authorization).digest("hex");

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

function responseOf({ status, headers, body }: LocalResponse): Response {
  const { connection: _, ...sent } = headers;
  const hasBody = status !== 204 && status !== 304;
  return new Response(hasBody ? ReadableStream.from(encoded(body)) : null, { status, headers: sent });
}

async function* encoded(body: LocalResponse["body"]): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of body) yield typeof piece === "string" ? encoder.encode(piece) : piece;
}

async function* decoded(body: LocalResponse["body"]): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of body) yield typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
}

async function bytesOf(body: LocalResponse["body"]): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const piece of encoded(body)) chunks.push(piece);
  return Uint8Array.from(Buffer.concat(chunks));
}
