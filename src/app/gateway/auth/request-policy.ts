/**
 * Checks every request before its token is read: the sender's address, the Host, the Origin, the URL and the size. Stops
 * requests that a foreign web page makes a browser send (DNS rebinding, CSRF), and tokens in URLs.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Config } from "../../../config/config-schema.ts";
import { ConfigError } from "../../../core/errors.ts";
import { CONTROL_HOST } from "./control-headers.ts";
import { TOKEN_SHAPED } from "./token.ts";

export interface RequestPolicy {
  /** The address the gateway listens on. */
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Peers whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. */
  readonly trustedProxies: readonly string[];
  /** Only the proxies and this machine may connect: the gateway listens on another address and has no TLS. */
  readonly proxiesOnly: boolean;
  readonly secure: boolean;
  /** Where people reach the gateway, if that differs from its own address. */
  readonly publicUrl?: URL;
  /** Of any request. A route may allow less. */
  readonly bodyBytes: number;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}

const MAX_URL = 8_192;
const LOCAL_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Throws unless the gateway listens on loopback, or has TLS, or names the proxy that adds it. */
export function assertSecureBind(host: string, secure: boolean, proxies: readonly string[]): void {
  if (isLoopback(host) || secure || proxies.length > 0) return;
  throw new ConfigError(`The gateway does not listen on ${host} without TLS.`, {
    hint: "Set gateway.tls, or name the proxy that adds TLS in gateway.trustedProxies, or keep gateway.host at 127.0.0.1.",
  });
}

/** The largest body of any route: one with files inside JSON, in base64. */
export const largestBody = ({ gateway, files }: Pick<Config, "gateway" | "files">): number =>
  gateway.limits.bodyBytes + Math.ceil((files.maxBytes * 4) / 3);

export function requestPolicy({ gateway, files }: Config, host: string, secure: boolean): RequestPolicy {
  const { allowedHosts, allowedOrigins, trustedProxies } = gateway;
  const proxiesOnly = !isLoopback(host) && !secure;
  const publicUrl = gateway.publicUrl === undefined ? undefined : new URL(gateway.publicUrl);
  const bodyBytes = largestBody({ gateway, files });
  return { host, allowedHosts, allowedOrigins, trustedProxies, proxiesOnly, secure, publicUrl, bodyBytes };
}

/** The rules of the control socket: it is reached by a path, so it has one name and no proxies, and no page can use it. */
export function controlPolicy(config: Config): RequestPolicy {
  return {
    host: CONTROL_HOST,
    allowedHosts: [],
    allowedOrigins: [],
    trustedProxies: [],
    proxiesOnly: false,
    secure: false,
    bodyBytes: largestBody(config),
  };
}

const refusal = (status: number, code: string, message: string): Refusal => ({ status, code, message });

/** Undefined if the request passes. */
export function checkRequest(incoming: IncomingMessage, policy: RequestPolicy): Refusal | undefined {
  const peer = peerOf(incoming);
  if (policy.proxiesOnly && !isLoopback(peer) && !policy.trustedProxies.includes(peer)) {
    return refusal(403, "not_a_proxy", "Only the proxies named in gateway.trustedProxies may connect.");
  }
  const url = incoming.url ?? "";
  if (url.length > MAX_URL) return refusal(414, "url_too_long", `The URL is longer than ${MAX_URL} characters.`);
  if (!url.startsWith("/")) return refusal(400, "bad_url", "The request URL must be a path that starts with /.");
  if (hasRepeated(incoming)) {
    return refusal(400, "repeated_header", "Host, Origin and Authorization must not be repeated.");
  }
  return (
    hostRefusal(incoming, policy) ??
    originRefusal(incoming, policy) ??
    (tokenInUrl(url)
      ? refusal(
          400,
          "token_in_url",
          "The URL contains a token. Send it as Authorization: Bearer instead, and replace the token: URLs are logged.",
        )
      : undefined) ??
    bodyRefusal(incoming, policy)
  );
}

/** The client's address, for rate limits: the one a trusted proxy reports, otherwise the peer. */
export function clientAddress(incoming: IncomingMessage, { trustedProxies }: RequestPolicy): string {
  const peer = peerOf(incoming);
  if (!trustedProxies.includes(peer)) return peer;
  const forwarded = incoming.headers["x-forwarded-for"];
  // The nearest proxy appends the last address; the client can forge those before it.
  const last = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",").at(-1)?.trim() ?? "";
  return isIP(last) > 0 ? last : peer;
}

export const isLoopback = (address: string): boolean =>
  address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

const plain = (address: string | undefined): string => (address ?? "").replace(/^::ffff:(?=\d+\.)/, "");
export const peerOf = (incoming: IncomingMessage): string => plain(incoming.socket.remoteAddress);

function hostRefusal(incoming: IncomingMessage, policy: RequestPolicy): Refusal | undefined {
  const name = hostName(incoming.headers.host ?? "");
  if (name === undefined) return refusal(400, "bad_host", "The Host header is missing or malformed.");
  const bare = plain(incoming.socket.localAddress);
  const own = [bare.includes(":") ? `[${bare}]` : bare, policy.host.toLowerCase(), `[${policy.host.toLowerCase()}]`];
  const known = [
    ...(isLoopback(bare) ? LOCAL_NAMES : []),
    ...own,
    ...policy.allowedHosts.map((host) => host.toLowerCase()),
    ...(policy.publicUrl ? [policy.publicUrl.hostname] : []),
  ];
  if (known.includes(name)) return undefined;
  return refusal(
    421,
    "foreign_host",
    "The Host header does not name this server. Add the name to gateway.allowedHosts if it is yours.",
  );
}

/** The name of a Host header without its port, lower-cased. */
function hostName(header: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(header);
  return match?.[1]?.toLowerCase();
}

function originRefusal(incoming: IncomingMessage, policy: RequestPolicy): Refusal | undefined {
  const { origin } = incoming.headers;
  if (origin === undefined) {
    // Browsers send Sec-Fetch-Site also on requests without an Origin.
    const site = incoming.headers["sec-fetch-site"];
    if (site !== "cross-site" && site !== "same-site") return undefined;
    return opensPage(incoming) ? undefined : foreignOrigin();
  }
  if (isSameOrigin(incoming, policy) || policy.allowedOrigins.includes(origin)) return undefined;
  return foreignOrigin();
}

/** A person follows a link to the control room on another site. The page changes nothing by itself. */
function opensPage({ method, url = "", headers }: IncomingMessage): boolean {
  const isPage = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  return method === "GET" && isPage && url === "/";
}

/** Whether a page of this server sends the request. A request without an Origin is none. */
export function isSameOrigin(incoming: IncomingMessage, policy: RequestPolicy): boolean {
  const { origin, host } = incoming.headers;
  if (origin === undefined) return false;
  const own = `${isSecure(incoming, policy) ? "https" : "http"}://${host ?? ""}`.toLowerCase();
  return origin.toLowerCase() === own || origin === policy.publicUrl?.origin;
}

/** Whether the client's connection is encrypted: to this server, or to the proxy before it. */
function isSecure({ socket, headers }: IncomingMessage, policy: RequestPolicy): boolean {
  const { secure, trustedProxies, publicUrl } = policy;
  if (secure || (trustedProxies.includes(plain(socket.remoteAddress)) && headers["x-forwarded-proto"] === "https")) {
    return true;
  }
  return publicUrl?.protocol === "https:" && headers.host?.toLowerCase() === publicUrl.host;
}

const foreignOrigin = (): Refusal =>
  refusal(
    403,
    "foreign_origin",
    "Pages of this origin may not call this server. Add the origin to gateway.allowedOrigins if it is yours.",
  );

const TOKEN_PARAMETERS = /[?&;](?:access_?token|auth_?token|token|api_?key|apikey|authorization|auth|bearer|key)=/i;

/** Whether a URL contains a token. URLs end up in logs, histories and referrers. */
export function tokenInUrl(url: string): boolean {
  // Tokens are ASCII. Decoding only ASCII escapes works for malformed URLs too.
  const decoded = url.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return [url, decoded].some((text) => TOKEN_PARAMETERS.test(text) || TOKEN_SHAPED.test(text));
}

function bodyRefusal(incoming: IncomingMessage, { bodyBytes }: RequestPolicy): Refusal | undefined {
  const length = Number(incoming.headers["content-length"] ?? 0);
  if (length <= bodyBytes) return undefined;
  return refusal(413, "body_too_large", `The body is larger than ${bodyBytes} bytes.`);
}

const SINGLE_HEADERS = ["host", "origin", "authorization"];

function hasRepeated({ rawHeaders }: IncomingMessage): boolean {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (!SINGLE_HEADERS.includes(name)) continue;
    if (seen.has(name)) return true;
    seen.add(name);
  }
  return false;
}
