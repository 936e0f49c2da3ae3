/**
 * The page of an invitation. GET shows a button and changes nothing, so that previews of links do not use it up. POST uses the
 * invitation once and sets the cookie of a login. The secret is in the path, and only its hash is stored.
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { cookieIn, cookieName, loginCookie } from "../auth/ambient-identity.ts";
import { countFailure } from "../auth/authorise.ts";
import { HttpError } from "../http/http-error.ts";
import { checkInput, decodeUtf8, parseJsonBody } from "../http/read-request.ts";
import type { Reply } from "../http/send-reply.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { invitePage, messagePage } from "./invite-page.ts";

const params = z.object({ invitation: z.string().min(1).max(100) });
/** Made for each page, and sent back with its form. */
const nonceSchema = z.string().regex(/^[A-Za-z0-9_-]{22,64}$/, "not the number that the page has sent");
const bodySchema = z.strictObject({ nonce: nonceSchema.optional() });

type InviteCall = Call<{ invitation: string }>;

const showRoute = defineRoute({
  method: "GET",
  path: "/invite/:invitation",
  access: "hook",
  lenient: true,
  action: "invite",
  tag: "people",
  summary: "The page of an invitation; opening it does not use it up",
  params,
  answers: { status: 200, holds: "a page with one button", type: "text/html" },
  async handle(call) {
    const { context, incoming, caller } = call;
    const person = await context.logins.invited(call.params.invitation);
    if (person !== undefined) {
      const name = (await context.ports.store.person(person))?.name ?? person;
      return invitePage(name, randomBytes(24).toString("base64url"));
    }
    const cookie = cookieIn(incoming, cookieName(caller.isSecure()));
    const login = cookie === undefined ? undefined : await context.logins.find(cookie);
    if (login) return messagePage(200, "You are signed in", `You are signed in as ${login.person}.`);
    return unknown(call);
  },
});

const useRoute = defineRoute({
  method: "POST",
  path: "/invite/:invitation",
  access: "hook",
  action: "invite",
  tag: "people",
  summary: "Use an invitation: opens a login as its person and sets its cookie; works once",
  params,
  bodyType: "application/x-www-form-urlencoded",
  answers: {
    status: 303,
    holds: "a cookie and the way to the control room; with a JSON body 200 and `{ person, expiresAt }`",
  },
  async handle(call) {
    const { context, incoming, caller } = call;
    const isJson = /json/i.test(incoming.headers["content-type"] ?? "");
    const { nonce = randomBytes(24).toString("base64url") } = bodyOf(call, isJson);
    const { invitation } = call.params;
    const used = await context.logins.exchange(invitation, nonce, incoming.headers["user-agent"]);
    if (!used) return isJson ? gone(call) : unknown(call);
    context.remoteNodes?.notifyChanged("tokens");
    const { person, expiresAt } = used.login;
    const seconds = Math.max(0, Math.floor((expiresAt - context.ports.clock.now()) / 1_000));
    const cookie = loginCookie(used.secret, caller.isSecure(), seconds);
    const headers = { "set-cookie": cookie, "idempotent-replayed": used.isRepeated ? "true" : undefined };
    if (isJson) return { json: { person, expiresAt }, headers };
    // The control room, relative to /invite/…, so that a prefix in the public address is kept.
    return { status: 303, text: "", type: "text/plain", headers: { ...headers, location: "../" } };
  },
});

function bodyOf({ raw, incoming }: InviteCall, isJson: boolean): z.infer<typeof bodySchema> {
  const given = isJson ? parseJsonBody(incoming, raw) : Object.fromEntries(new URLSearchParams(decodeUtf8(raw)));
  return checkInput(bodySchema, given, "body");
}

/** Counts as a failed login: many of them from one address make it wait. */
function unknown({ context, caller }: InviteCall): Reply {
  const tooMany = countFailure(context, caller.address, WRONG);
  if (tooMany) throw tooMany;
  return messagePage(404, "This invitation is not valid", "It was used, or it has expired. Ask for a new one.");
}

function gone({ context, caller }: InviteCall): never {
  const tooMany = countFailure(context, caller.address, WRONG);
  if (tooMany) throw tooMany;
  throw new HttpError(410, "invitation_used", "This invitation was used, or it has expired.", {
    hint: "Ask the owner for a new one (`rookery people invite`).",
  });
}

const WRONG = "The invitation is not valid.";

export const inviteRoutes: readonly Route[] = [showRoute, useRoute];
