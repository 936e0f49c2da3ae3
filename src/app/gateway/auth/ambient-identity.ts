/**
 * Who a request comes from if it has no token: the login in its cookie, or the person that a trusted proxy names. A browser sends
 * both by itself, so requests that change something must come from a page of this server.
 */
import type { IncomingMessage } from "node:http";
import type { Config } from "../../../config/config-schema.ts";
import { accountOf, isRecordId } from "../../../core/people/person.ts";
import type { Directory } from "../../../engine/people/directory.ts";
import { HttpError } from "../http/http-error.ts";
import type { Caller } from "./authorise.ts";
import type { LoginService } from "./login-service.ts";
import { PROXY_PREFIX, type Principal } from "./principal.ts";

export interface AmbientContext {
  readonly config: () => Config;
  readonly logins: LoginService;
  readonly agents: { readonly directory: Directory };
}

/** `__Host-`: no other host, and no page without TLS, can set it. */
export const cookieName = (secure: boolean): string => (secure ? "__Host-rookery" : "rookery");

/** `SameSite=Strict`: no page of another site makes the browser send it. */
export const loginCookie = (secret: string, secure: boolean, seconds: number): string =>
  `${cookieName(secure)}=${secret}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;

const PROXY = "proxy";
const MAX_IDENTITY = 256;

/** Undefined if it has neither. Throws a 403 for a name that is no guest's, and for a change from a foreign page. */
export function ambientIdentity(context: AmbientContext, caller: Caller): Promise<Principal | undefined> | undefined {
  const { surface, incoming } = caller;
  const { authorization, cookie } = incoming.headers;
  if (surface !== "network" || authorization !== undefined) return undefined;
  const mayHaveOne = cookie !== undefined || context.config().gateway.trustedProxy !== undefined;
  return mayHaveOne ? identityOf(context, caller) : undefined;
}

async function identityOf(context: AmbientContext, caller: Caller): Promise<Principal | undefined> {
  const { incoming } = caller;
  const principal = (await byProxy(context, caller)) ?? (await byCookie(context, caller));
  if (principal && incoming.method !== "GET" && incoming.method !== "HEAD" && !caller.isSameOrigin()) {
    throw new HttpError(403, "foreign_origin", "Only pages of this server may change something with a login.", {
      hint: "Send the Origin of this server, or use a token as Authorization: Bearer …",
    });
  }
  return principal;
}

async function byCookie({ logins }: AmbientContext, { incoming, isSecure }: Caller): Promise<Principal | undefined> {
  const secret = cookieIn(incoming, cookieName(isSecure()));
  return secret === undefined ? undefined : logins.find(secret);
}

/** The one cookie of this name. Two of them are none: one may be forged. */
export function cookieIn({ headers }: IncomingMessage, name: string): string | undefined {
  const values = (headers.cookie ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at > 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

/** The header counts only from the addresses of the configuration: the peer of the connection, never what a header says. */
async function byProxy({ config, agents }: AmbientContext, { incoming, peer }: Caller): Promise<Principal | undefined> {
  const { trustedProxy } = config().gateway;
  if (!trustedProxy?.addresses.includes(peer)) return undefined;
  const given = valuesOf(incoming, trustedProxy.header.toLowerCase());
  if (given.length === 0) return undefined;
  const [name = ""] = given;
  if (given.length > 1 || name === "" || name.length > MAX_IDENTITY) {
    throw new HttpError(400, "bad_identity", `The header ${trustedProxy.header} must name one person.`);
  }
  const people = await agents.directory.now();
  const person = people.personOf(accountOf(PROXY, name));
  if (!isRecordId(person) || people.record(person)?.role !== "guest") {
    throw new HttpError(403, "stranger", "You are not known here.", {
      hint: "Ask the owner to let you in (`rookery people link ID proxy:NAME`).",
    });
  }
  return { id: PROXY_PREFIX + person, name: `${person} by the proxy`, kind: "person", person, scopes: ["chat"] };
}

function valuesOf({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) values.push((rawHeaders[at + 1] ?? "").trim());
  }
  return values;
}
