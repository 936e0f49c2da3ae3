/** Logins: inviting a person, listing and ending what invitations opened. */
import { z } from "zod";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { submit } from "../../../engine/commit/submit.ts";
import type { Actor } from "../../../engine/people/audit-entry.ts";
import { addPerson } from "../../../engine/people/change-people.ts";
import { actorOf, assertOwner, isOwners } from "../auth/actor.ts";
import { errorBody, HttpError } from "../http/http-error.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";
import { loginSchema } from "../schemas/people.ts";
import { loginsChanged } from "./logins-changed.ts";
import { personParams } from "./people-routes.ts";
import { pageLink } from "./sign-in-url.ts";

const inviteRoute = defineRoute({
  name: "invitePerson",
  method: "POST",
  path: "/api/people/:person/invitations",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Invite a person with a link that opens a login once, within 24 hours; makes a guest if there is no record",
  params: personParams,
  output: { 201: z.strictObject({ person: z.string(), link: z.string(), expiresAt: z.number() }) },
  errors: { 409: "The key was used before. A link is shown once." },
  async handle(call) {
    const { context, principal, surface, params } = call;
    assertOwner(principal);
    const { publicUrl } = context.settings.current.gateway;
    if (publicUrl === undefined) throw noPublicUrl();
    const { secret, expiresAt } = await invite(call, actorOf(principal, surface), params.person);
    await loginsChanged(context);
    const link = pageLink(publicUrl, "invite", secret);
    return { status: 201 as const, json: { person: params.person, link, expiresAt } };
  },
});

const TRIES = 10;

async function invite(call: Call, by: Actor, id: string): Promise<{ secret: string; expiresAt: number }> {
  const { context, record } = call;
  // The link is not stored: a repeated request does not get it.
  const alsoReply = () => record({ status: 409, json: errorBody(alreadyInvited()) });
  for (let tries = 1; ; tries++) {
    const { secret, expiresAt, ops } = await context.logins.inviting(by, id);
    try {
      const person = await context.ports.store.person(id);
      if (person?.role === "contact") throw contactsHaveNoLogin(id);
      if (!person) await addPerson(context.ports, by, { id }, () => [...ops, ...alsoReply()]);
      else {
        const done = await submit(context.ports, "person.invite", [...ops, ...alsoReply()]);
        if (!done.ok) throw new ConflictError(done.detail);
      }
      return { secret, expiresAt };
    } catch (error) {
      if (!(error instanceof ConflictError) || tries >= TRIES) throw error;
    }
  }
}

const alreadyInvited = (): HttpError =>
  new HttpError(409, "already_invited", "This request has already made an invitation, whose link is not shown again.", {
    hint: "Invite again with a new Idempotency-Key if you do not have the link.",
  });

const noPublicUrl = (): HttpError =>
  new HttpError(409, "not_configured", "An invitation needs the address under which people reach the gateway.", {
    hint: 'Set gateway.publicUrl, such as "https://rookery.example.org", or "http://127.0.0.1:7717" for this machine alone.',
  });

const contactsHaveNoLogin = (id: string): HttpError =>
  new HttpError(409, "contact", `${id} is a contact, who only writes to swarms and has no login.`, {
    hint: `Make a guest of ${id} first: \`rookery people set ${id} --role guest\``,
  });

const listRoute = defineRoute({
  name: "listLogins",
  method: "GET",
  path: "/api/logins",
  access: "any",
  action: "logins",
  tag: "people",
  summary: "List the logins that invitations opened: all for the owner, otherwise the person's own",
  query: z.strictObject({ person: z.string().max(64).optional() }),
  output: listSchema(loginSchema),
  async handle({ context, principal, query }) {
    const own = isOwners(principal) ? query.person : (principal.person ?? "");
    const items = own === "" ? [] : await context.logins.list(own);
    return { json: listOf(items) };
  },
});

const endRoute = defineRoute({
  name: "endLogin",
  method: "DELETE",
  path: "/api/logins/:login",
  access: "any",
  action: "logins",
  tag: "people",
  summary: "End a login and close its streams; a person ends the own ones",
  params: z.object({ login: z.string().regex(/^[a-z0-9]{12}$/, "the id of a login") }),
  output: z.strictObject({ ended: z.string(), person: z.string() }),
  async handle({ context, principal, surface, params }) {
    const own = isOwners(principal) ? undefined : (principal.person ?? "");
    const ended = await context.logins.end(actorOf(principal, surface), params.login, own);
    if (!ended) {
      throw new NotFoundError(`There is no login ${params.login}.`, { hint: "`rookery people sessions` lists them." });
    }
    await loginsChanged(context);
    return { json: { ended: params.login, person: ended.person } };
  },
});

export const loginRoutes: readonly Route[] = [inviteRoute, listRoute, endRoute];
