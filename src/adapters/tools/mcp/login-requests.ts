/**
 * The requests around the login at a remote MCP server. The owner has named that server; every other address comes from its answers. Such
 * an address is checked like one that a text has named, and it gets none of the headers that are meant for the MCP server.
 */
import type { FetchLike } from "@modelcontextprotocol/client";
import { outgoingHttp, reachableAddresses } from "../../system/outgoing-http.ts";
import { AllowedAddresses } from "../../system/public-address.ts";

interface LoginRequests {
  readonly fetch: FetchLike;
  /** Throws `DeniedError` unless a browser may be sent to this address. */
  check(url: URL): Promise<void>;
}

interface LoginRequestOptions {
  /** The MCP server. */
  readonly url: string;
  /** Those of requests to the MCP server. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly allowPrivate: readonly string[];
}

const MAX_ANSWER = 1024 * 1024;
const TIMEOUT_MS = 30_000;

export function loginRequests({ url, headers: own = {}, allowPrivate }: LoginRequestOptions): LoginRequests {
  const server = new URL(url);
  const outgoing = { allowed: () => new AllowedAddresses(allowPrivate) };
  const send = outgoingHttp(outgoing);
  const isServer = ({ host, protocol }: URL): boolean =>
    host === server.host && (protocol === server.protocol || protocol === "https:");
  return {
    async fetch(to, init) {
      const target = new URL(to);
      // Redirects come back as answers. The client asks here again before it follows one.
      if (isServer(target)) return fetch(target, { ...init, redirect: "manual" });
      const given = [...new Headers(init?.headers)].filter(([name, value]) => new Headers(own).get(name) !== value);
      const signals = [AbortSignal.timeout(TIMEOUT_MS), ...(init?.signal ? [init.signal] : [])];
      const { status, headers, body } = await send({
        url: target.href,
        method: init?.method === "POST" ? "POST" : "GET",
        headers: Object.fromEntries(given),
        body: init?.body ? await new Response(init.body).text() : undefined,
        signal: AbortSignal.any(signals),
        maxBytes: MAX_ANSWER,
      });
      const answered = Object.entries(headers).flatMap(([name, values]) =>
        [values ?? []].flat().map((value): [string, string] => [name, value]),
      );
      return new Response(body.length === 0 ? null : new Uint8Array(body), { status, headers: answered });
    },
    async check(to) {
      if (!isServer(to)) await reachableAddresses(outgoing, to, AbortSignal.timeout(TIMEOUT_MS));
    },
  };
}
