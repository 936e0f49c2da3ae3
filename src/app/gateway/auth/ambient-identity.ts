/**
 * Who a request comes from if it has no token: the person that a trusted proxy names, or the login that the page sends in a header.
 * There is no cookie: a browser sends cookies to every port of a host, and accepts them from every port.
 */

import type { IncomingMessage } from "node:http";
import type { Settings } from "../../../config/settings.ts";
import type { Current } from "../../../core/current.ts";
import { accountOf, isRecordId } from "../../../core/people/person.ts";
import type { Directory } from "../../../engine/people/directory.ts";
import { HttpError } from "../http/http-error.ts";
import type { Caller } from "./authorise.ts";
import type { LoginService } from "./login-service.ts";
import { PROXY_PREFIX, type Principal } from "./principal.ts";

interface AmbientContext {
  readonly settings: Current<Settings>;
  readonly logins: LoginService;
  readonly agents: { readonly directory: Directory };
}

/** The secret of a login, or of an invitation that is about to become one. Pages of other origins may not send it (`answerPreflight`). */
const LOGIN_HEADER = "rookery-login";

export const loginSecretIn = ({ headers }: Pick<IncomingMessage, "headers">): string | undefined => {
  const value = headers[LOGIN_HEADER];
  return typeof value === "string" ? value : undefined;
};

const PROXY = "proxy";
const MAX_IDENTITY = 256;

/** Undefined if it has neither. Throws a 403 for a name that does not belong to a guest, and for a change from a foreign page. */
export function ambientIdentity(context: AmbientContext, caller: Caller): Promise<Principal | undefined> | undefined {
  const { surface, incoming } = caller;
  if (surface !== "network" || incoming.headers.authorization !== undefined) return undefined;
  const secret = loginSecretIn(incoming);
  const mayHaveOne = secret !== undefined || context.settings.current.gateway.trustedProxy !== undefined;
  return mayHaveOne ? identityOf(context, caller, secret) : undefined;
}

async function identityOf(
  context: AmbientContext,
  caller: Caller,
  secret: string | undefined,
): Promise<Principal | undefined> {
  const named = await byProxy(context, caller);
  if (!named) return secret === undefined ? undefined : context.logins.find(secret);
  const { method } = caller.incoming;
  // The proxy knows the person by something that the browser sends by itself.
  if (method !== "GET" && method !== "HEAD" && !caller.isSameOrigin()) {
    throw new HttpError(403, "foreign_origin", "Only pages of this server may change something through the proxy.", {
      hint: "Send the Origin of this server, or use a token as Authorization: Bearer …",
    });
  }
  return named;
}

/** The header counts only from the addresses of the configuration: the peer of the connection, never what a header says. */
async function byProxy(
  { settings, agents }: AmbientContext,
  { incoming, peer }: Caller,
): Promise<Principal | undefined> {
  const { trustedProxy } = settings.current.gateway;
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
