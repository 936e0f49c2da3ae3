/**
 * The one client for requests to addresses that a text has named: gates, and tools that read the web. It reaches public
 * addresses only, unless the owner lists others. The check is made on the resolved address, and the connection goes to that
 * same address, on every redirect too. Time, size and redirects are bounded.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { DeniedError, errorText, InvalidInputError, ServerUnavailableError, TimeoutError } from "../../core/errors.ts";
import type { AllowedAddresses } from "./public-address.ts";

export interface OutgoingRequest {
  readonly url: string;
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** The body is cut after this many bytes. */
  readonly maxBytes: number;
  /** Default: none. */
  readonly maxRedirects?: number;
}

export interface OutgoingAnswer {
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  /** Whether there was more than `maxBytes`. */
  readonly cut: boolean;
}

export type OutgoingHttp = (request: OutgoingRequest) => Promise<OutgoingAnswer>;

interface OutgoingOptions {
  readonly allowed: () => AllowedAddresses;
  /** All addresses of a host. Default: the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Not sent to another origin: they were meant for the first. */
const OWN_HEADERS = new Set(["authorization", "cookie", "proxy-authorization", "x-api-key"]);
const MAX_URL = 8_192;

export const outgoingHttp =
  (options: OutgoingOptions): OutgoingHttp =>
  async (first) => {
    let request = first;
    for (let left = first.maxRedirects ?? 0; ; left--) {
      const url = checkedUrl(request.url);
      const failed = failureOf(hostOf(url), first.signal);
      const response = await send(url, request, await reachableAddresses(options, url, first.signal)).catch(failed);
      const to = response.headers.location;
      if (!REDIRECTS.has(response.statusCode ?? 0) || to === undefined || first.maxRedirects === undefined) {
        return { ...(await read(response, request.maxBytes).catch(failed)), url: url.href };
      }
      response.destroy();
      if (left <= 0) throw new InvalidInputError(`${first.url} redirects more than ${first.maxRedirects} times.`);
      const next = URL.parse(to, url.href);
      if (!next) throw new InvalidInputError(`${url.href} redirects to an invalid address.`);
      request = redirected(request, url, next, response.statusCode ?? 0);
    }
  };

/** The addresses of a URL that a request may go to. Throws `DeniedError` if there are none. */
export async function reachableAddresses(
  { allowed, resolve = systemResolve }: OutgoingOptions,
  to: URL,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { protocol, port: given } = checkedUrl(to.href);
  const host = hostOf(to);
  const addresses = isIP(host) ? [host] : await resolve(host).catch(failureOf(host, signal));
  const port = given || (protocol === "https:" ? "443" : "80");
  const reachable = addresses.filter((address) => allowed().allows(host, port, address));
  if (reachable.length === 0) {
    throw new DeniedError(`${host} is not a public address.`, {
      hint: `The owner can allow it: add "${host}:${port}" to network.allowPrivate.`,
    });
  }
  return reachable;
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/** Throws the error that a person sees for a request without an answer. An abort by the caller stays what it is. */
const failureOf =
  (host: string, signal: AbortSignal) =>
  (cause: unknown): never => {
    if (signal.aborted && (signal.reason as Partial<Error> | undefined)?.name !== "TimeoutError") throw cause;
    if (signal.aborted) {
      throw new TimeoutError(`${host} did not answer in time.`, { cause, hint: "Try again later." });
    }
    throw new ServerUnavailableError(`${host} cannot be reached: ${errorText(cause)}.`, {
      ...{ cause, hint: "Check the address, or try again later." },
    });
  };

function checkedUrl(text: string): URL {
  const url = text.length <= MAX_URL && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new InvalidInputError("Not an http or https address.", {
      hint: "Give a whole URL, such as https://example.org/.",
    });
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidInputError("An address with a user name or a password is refused.", {
      hint: "Use a header instead.",
    });
  }
  return url;
}

/** The request after a redirect. 303, and 301 and 302 after a POST, become a GET, as browsers do. */
function redirected(request: OutgoingRequest, from: URL, to: URL, status: number): OutgoingRequest {
  const { method = "GET", headers = {}, body } = request;
  const becomesGet = status === 303 || (status <= 302 && method === "POST");
  const kept = Object.entries(headers).filter(
    ([name]) => from.origin === to.origin || !OWN_HEADERS.has(name.toLowerCase()),
  );
  return {
    ...request,
    url: to.href,
    method: becomesGet && method !== "HEAD" ? "GET" : method,
    body: becomesGet ? undefined : body,
    headers: Object.fromEntries(kept),
  };
}

async function systemResolve(host: string): Promise<readonly string[]> {
  const { lookup } = process.getBuiltinModule("node:dns/promises");
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Connects to one of the checked addresses: the name is not resolved a second time. */
function send(url: URL, request: OutgoingRequest, addresses: readonly string[]): Promise<IncomingMessage> {
  const { method = "GET", headers = {}, body, signal } = request;
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, options, done) => {
    if (options.all) done(null, found);
    else done(null, found[0]?.address ?? "", found[0]?.family);
  };
  const { request: begin } = process.getBuiltinModule(
    url.protocol === "https:" ? "node:https" : "node:http",
  ) as typeof import("node:http");
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { method, headers: { ...headers, "accept-encoding": "identity" }, signal, lookup };
    // A connection of its own: a reused one could go to an address that was checked for another request.
    const asked: ClientRequest = begin(url, { ...options, agent: false });
    asked.on("response", resolve);
    asked.on("error", reject);
    asked.end(body);
  });
}

function read(response: IncomingMessage, maxBytes: number): Promise<Omit<OutgoingAnswer, "url">> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const end = (cut: boolean): void => {
      const { statusCode: status = 0, headers } = response;
      resolve({ status, headers, body: Buffer.concat(chunks).subarray(0, maxBytes), cut });
    };
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxBytes) return;
      end(true);
      response.destroy();
    });
    response.on("end", () => end(false));
    response.on("error", reject);
    response.on("close", () => end(false));
  });
}
