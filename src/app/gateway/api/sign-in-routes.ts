/** Signing in to the control room: a code that the owner makes becomes a login, once; and who a request comes from. */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { OWNER } from "../../../core/people/person.ts";
import { actorOf, assertOwner, isOwners } from "../auth/actor.ts";
import { loginCookie } from "../auth/ambient-identity.ts";
import { countFailure } from "../auth/authorise.ts";
import { LOGIN_PREFIX } from "../auth/principal.ts";
import { errorBody, HttpError } from "../http/http-error.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { signInUrl } from "./sign-in-url.ts";

const codeRoute = defineRoute({
  method: "POST",
  path: "/api/logins/codes",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Make a link that signs the owner in to the control room once, within a minute",
  answers: { status: 201, holds: "`{ url, expiresAt }`; the code is in the fragment of the address" },
  async handle({ context, principal, surface, record }) {
    assertOwner(principal);
    if (context.address.url === undefined) throw noGateway();
    // The code is not stored: a repeated request does not get it.
    const also = record({ status: 409, json: errorBody(alreadyMade()) });
    return { status: 201, json: await signInUrl(context, actorOf(principal, surface), also) };
  },
});

const alreadyMade = (): HttpError =>
  new HttpError(409, "already_made", "This request has already made a sign-in code, which is not shown again.", {
    hint: "Ask again with a new Idempotency-Key.",
  });

const noGateway = (): HttpError =>
  new HttpError(409, "not_serving", "The control room is served by a running gateway, and there is none.", {
    hint: "Start it with `rookery serve`.",
  });

const exchangeSchema = z.strictObject({
  code: z.string().max(100),
  /** Made by the page. The same code and nonce again, after a lost answer, get the same login. */
  nonce: z
    .string()
    .regex(/^[A-Za-z0-9_-]{22,64}$/)
    .optional(),
});

const exchangeRoute = defineRoute({
  method: "POST",
  path: "/api/logins",
  access: "hook",
  action: "logins",
  tag: "people",
  body: exchangeSchema,
  example: { code: "k7mzq2k7mz" },
  summary: "Use a sign-in code: opens a login of the owner and sets its cookie; works once, from the control room only",
  answers: { status: 200, holds: "`{ person, expiresAt }` and the cookie; 410 if the code was used or has expired" },
  async handle(call) {
    const { context, incoming, caller, body } = call;
    // Otherwise a foreign page could sign a browser in with a code of its own.
    if (!caller.isSameOrigin()) {
      throw new HttpError(403, "foreign_origin", "Only the control room of this server may use a sign-in code.");
    }
    const { code, nonce = randomBytes(24).toString("base64url") } = body;
    const used = await context.logins.exchange(code, nonce, incoming.headers["user-agent"], "code");
    if (!used) return gone(call);
    context.remoteNodes?.notifyChanged("tokens");
    const { person, expiresAt } = used.login;
    const seconds = Math.max(0, Math.floor((expiresAt - context.ports.clock.now()) / 1_000));
    return {
      json: { person, expiresAt },
      headers: {
        "set-cookie": loginCookie(used.secret, caller.isSecure(), seconds),
        "idempotent-replayed": used.isRepeated ? "true" : undefined,
      },
    };
  },
});

/** Counts as a failed login: many of them from one address make it wait. */
function gone({ context, caller }: Call): never {
  const tooMany = countFailure(context, caller.address, "The sign-in code is not valid.");
  if (tooMany) throw tooMany;
  throw new HttpError(410, "code_used", "This sign-in link was used, or it has expired.", {
    hint: "Run `rookery open` for a new one.",
  });
}

const meRoute = defineRoute({
  method: "GET",
  path: "/api/me",
  access: "any",
  action: "message",
  tag: "people",
  summary: "Who the request comes from: the person, the scopes, and the login if there is one",
  answers: { status: 200, holds: "`{ person, name, kind, scopes, isOwner, login, version, timeZone }`" },
  async handle({ context, principal }) {
    const { id, kind, person, scopes } = principal;
    const record = person && person !== OWNER ? await context.ports.store.person(person) : undefined;
    const login = id.startsWith(LOGIN_PREFIX) ? id.slice(LOGIN_PREFIX.length) : null;
    return {
      json: {
        person: person ?? null,
        name: record?.name ?? person ?? principal.name,
        kind,
        scopes,
        isOwner: isOwners(principal),
        login,
        version: context.version,
        timeZone: context.config().session.timeZone ?? null,
      },
    };
  },
});

export const signInRoutes: readonly Route[] = [codeRoute, exchangeRoute, meRoute];
