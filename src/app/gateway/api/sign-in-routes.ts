/** Signing in to the control room: a code of the owner or an invitation becomes a login, once; and who a request comes from. */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { OWNER } from "../../../core/people/person.ts";
import { actorOf, assertOwner, isOwners } from "../auth/actor.ts";
import { loginSecretIn } from "../auth/ambient-identity.ts";
import { countFailure } from "../auth/authorise.ts";
import { LOGIN_PREFIX } from "../auth/principal.ts";
import { errorBody, HttpError } from "../http/http-error.ts";
import { REPLAYED } from "../http/send-reply.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { signInUrl } from "./sign-in-url.ts";

const codeRoute = defineRoute({
  name: "createLoginCode",
  method: "POST",
  path: "/api/logins/codes",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Make a link that signs the owner in to the control room once, within a minute",
  output: { 201: z.strictObject({ url: z.string(), expiresAt: z.number() }) },
  async handle({ context, principal, surface, record }) {
    assertOwner(principal);
    if (context.address.url === undefined) throw noGateway();
    // The code is not stored: a repeated request does not get it.
    const also = record({ status: 409, json: errorBody(alreadyMade()) });
    return { status: 201 as const, json: await signInUrl(context, actorOf(principal, surface), also) };
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

const secret = z.string().max(100);
/** Made by the page. The same secret and nonce again, after a lost answer, get the same login. */
const nonce = z
  .string()
  .regex(/^[A-Za-z0-9_-]{22,64}$/)
  .optional();
const exchangeSchema = z
  .strictObject({ code: secret.optional(), invitation: secret.optional(), nonce })
  .refine(
    ({ code, invitation }) => (code === undefined) !== (invitation === undefined),
    "needs `code` or `invitation`",
  );

const exchangeRoute = defineRoute({
  name: "openLogin",
  method: "POST",
  path: "/api/logins",
  access: "hook",
  action: "logins",
  tag: "people",
  body: exchangeSchema,
  example: { code: "k7mzq2k7mz" },
  summary: "Use a sign-in code of the owner, or the invitation of a guest: opens a login; works once",
  output: z.strictObject({ person: z.string(), secret: z.string(), expiresAt: z.number() }),
  errors: { 410: "It was used, or has expired." },
  async handle(call) {
    const { context, incoming, body } = call;
    const { code, invitation = "", nonce = randomBytes(24).toString("base64url") } = body;
    // A link that signs in without asking is the owner's own: nobody signs the owner's browser in as a guest.
    const [kind, text] = code === undefined ? (["invite", invitation] as const) : (["code", code] as const);
    const used = await context.logins.exchange(text, nonce, incoming.headers["user-agent"], kind);
    if (!used) return gone(call, kind);
    context.remoteNodes?.notifyChanged("tokens");
    const { person, expiresAt } = used.login;
    return { json: { person, secret: used.secret, expiresAt }, headers: used.isRepeated ? REPLAYED : undefined };
  },
});

const invitationRoute = defineRoute({
  name: "getInvitation",
  method: "GET",
  path: "/api/invitation",
  access: "hook",
  action: "logins",
  tag: "people",
  summary: "Who the invitation in the header `Rookery-Login` is for; looking does not use it up",
  output: z.strictObject({ person: z.string(), name: z.string() }),
  errors: { 410: "It was used, or has expired." },
  async handle(call) {
    const { context, incoming } = call;
    const person = await context.logins.invited(loginSecretIn(incoming) ?? "");
    if (person === undefined) return gone(call, "invite");
    return { json: { person, name: (await context.ports.store.person(person))?.name ?? person } };
  },
});

/** Counts as a failed login: many of them from one address make it wait. */
function gone({ context, caller }: Call, kind: "code" | "invite"): never {
  const { reason, code, message, hint } = GONE[kind];
  const tooMany = countFailure(context, caller.address, reason);
  if (tooMany) throw tooMany;
  throw new HttpError(410, code, message, { hint });
}

const GONE = {
  code: {
    reason: "The sign-in code is not valid.",
    code: "code_used",
    message: "This sign-in link was used, or it has expired.",
    hint: "Run `rookery open` for a new one.",
  },
  invite: {
    reason: "The invitation is not valid.",
    code: "invitation_used",
    message: "This invitation was used, or it has expired.",
    hint: "Ask the owner for a new one (`rookery people invite`).",
  },
} as const;

const meRoute = defineRoute({
  name: "getMe",
  method: "GET",
  path: "/api/me",
  access: "any",
  action: "message",
  tag: "people",
  summary: "Who the request comes from: the person, the scopes, and the login if there is one",
  output: z.strictObject({
    person: z.string().nullable(),
    name: z.string(),
    kind: z.enum(["application", "old", "owner", "person"]),
    scopes: z.array(z.enum(["admin", "chat", "operate", "read"])),
    isOwner: z.boolean(),
    login: z.string().nullable(),
    version: z.string(),
    timeZone: z.string().nullable(),
  }),
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
        timeZone: context.settings.current.session.timeZone ?? null,
      },
    };
  },
});

export const signInRoutes: readonly Route[] = [codeRoute, exchangeRoute, invitationRoute, meRoute];
