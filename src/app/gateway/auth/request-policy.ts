/**
 * What is asked of every request before anybody looks at its token: who sends it, which host it believes to speak to,
 * which page it comes from, how much it brings. Guards against pages that a browser was lured to, and against floods.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { TOKEN_SHAPED } from "./token.ts";

export interface RequestPolicy {
  /** The address the gateway listens on. */
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Addresses whose word about the client is believed. */
  readonly trustedProxies: readonly string[];
  /** Whether only the proxies and this machine may connect: another address without TLS. */
  readonly proxiesOnly: boolean;
  readonly secure: boolean;
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

const refusal = (status: number, code: string, message: string): Refusal => ({ status, code, message });

/** Undefined where nothing speaks against the request. */
export function checkRequest(incoming: IncomingMessage, rules: RequestPolicy): Refusal | undefined {
  const peer = peerOf(incoming);
  if (rules.proxiesOnly && !isLoopback(peer) && !rules.trustedProxies.includes(peer)) {
    return refusal(403, "not_a_proxy", "Only the proxies named in gateway.trustedProxies may connect.");
  }
  const url = incoming.url ?? "";
  if (url.length > MAX_URL) return refusal(414, "url_too_long", `The URL is longer than ${MAX_URL} characters.`);
  if (!url.startsWith("/")) return refusal(400, "bad_url", "The request must name a path of this server.");
  if (hasRepeated(incoming))
    return refusal(400, "repeated_header", "Host, Origin and Authorization may be said once only.");
  return (
    hostRefusal(incoming, rules) ??
    originRefusal(incoming, rules) ??
    (tokenInUrl(url)
      ? refusal(400, "token_in_url", "A token never belongs into a URL: send it as Authorization: Bearer.")
      : undefined) ??
    bodyRefusal(incoming, rules)
  );
}

/** Whose request it is, for limits: what a trusted proxy says, else who connected. */
export function clientAddress(incoming: IncomingMessage, { trustedProxies }: RequestPolicy): string {
  const peer = peerOf(incoming);
  if (!trustedProxies.includes(peer)) return peer;
  const said = incoming.headers["x-forwarded-for"];
  // The last word is the nearest proxy's own; what stands before it was brought along.
  const last = (Array.isArray(said) ? said.join(",") : (said ?? "")).split(",").at(-1)?.trim() ?? "";
  return isIP(last) > 0 ? last : peer;
}

export const isLoopback = (address: string): boolean =>
  address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));

const plain = (address: string | undefined): string => (address ?? "").replace(/^::ffff:(?=\d+\.)/, "");
const peerOf = (incoming: IncomingMessage): string => plain(incoming.socket.remoteAddress);

function hostRefusal(incoming: IncomingMessage, rules: RequestPolicy): Refusal | undefined {
  const name = hostName(incoming.headers.host ?? "");
  if (name === undefined) return refusal(400, "bad_host", "The Host header is missing or cannot be read.");
  const bare = plain(incoming.socket.localAddress);
  const own = [bare.includes(":") ? `[${bare}]` : bare, rules.host.toLowerCase(), `[${rules.host.toLowerCase()}]`];
  const known = [
    ...(isLoopback(bare) ? LOCAL_NAMES : []),
    ...own,
    ...rules.allowedHosts.map((host) => host.toLowerCase()),
  ];
  if (known.includes(name)) return undefined;
  return refusal(
    421,
    "foreign_host",
    "This server is not known by that name. Add it to gateway.allowedHosts if it is yours.",
  );
}

/** The name of a Host header without its port, lower-cased. */
function hostName(header: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(header);
  return match?.[1]?.toLowerCase();
}

function originRefusal(incoming: IncomingMessage, rules: RequestPolicy): Refusal | undefined {
  const { origin, host } = incoming.headers;
  const { allowedOrigins, trustedProxies } = rules;
  const secure =
    rules.secure || (trustedProxies.includes(peerOf(incoming)) && incoming.headers["x-forwarded-proto"] === "https");
  if (origin === undefined) {
    // A browser tells where a request without Origin comes from.
    const site = incoming.headers["sec-fetch-site"];
    return site === "cross-site" || site === "same-site" ? foreignOrigin() : undefined;
  }
  const own = `${secure ? "https" : "http"}://${host ?? ""}`.toLowerCase();
  if (origin.toLowerCase() === own || allowedOrigins.includes(origin)) return undefined;
  return foreignOrigin();
}

const foreignOrigin = (): Refusal =>
  refusal(
    403,
    "foreign_origin",
    "Pages of other origins may not speak to this server. Add the origin to gateway.allowedOrigins if it is yours.",
  );

const TOKEN_WORDS = /[?&;](?:access_?token|auth_?token|token|api_?key|apikey|authorization|auth|bearer|key)=/i;

/** URLs end up in logs, histories and referrers. */
export function tokenInUrl(url: string): boolean {
  if (TOKEN_WORDS.test(url) || TOKEN_SHAPED.test(url)) return true;
  try {
    const read = decodeURIComponent(url);
    return TOKEN_WORDS.test(read) || TOKEN_SHAPED.test(read);
  } catch {
    return false;
  }
}

function bodyRefusal(incoming: IncomingMessage, { bodyBytes }: RequestPolicy): Refusal | undefined {
  const length = Number(incoming.headers["content-length"] ?? 0);
  if (length <= bodyBytes) return undefined;
  return refusal(413, "body_too_large", `The body is larger than ${bodyBytes} bytes.`);
}

const ONCE = ["host", "origin", "authorization"];

function hasRepeated({ rawHeaders }: IncomingMessage): boolean {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (!ONCE.includes(name)) continue;
    if (seen.has(name)) return true;
    seen.add(name);
  }
  return false;
}
