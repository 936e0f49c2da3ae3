/** People: list, show, add, change, remove; their accounts and grants. Only the owner changes them; a person sees their own record. */
import { z } from "zod";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { grantsSchema, VERDICTS, type Verdict } from "../../../core/people/grant.ts";
import { type PersonRecord, personLimitsSchema, personRecordSchema } from "../../../core/people/person-record.ts";
import type { Actor } from "../../../engine/people/audit-entry.ts";
import {
  addPerson,
  changePerson,
  granted,
  grantOf,
  linked,
  type PersonChange,
  patched,
  removePerson,
  requirePerson,
  revoked,
  unlinked,
} from "../../../engine/people/change-people.ts";
import { actorOf, assertOwner, isOwners } from "../auth/actor.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { pageSchema } from "../schemas/list.ts";
import { loginsChanged, peopleChanged } from "./logins-changed.ts";
import { limitQuery, nextOf } from "./params.ts";

export const personParams = z.object({ person: z.string().min(1).max(64) });
const account = z.string().trim().min(3).max(512);
const subject = z.string().trim().min(1).max(1_000);
const role = z.enum(["guest", "contact"]);

const listRoute = defineRoute({
  name: "listPeople",
  method: "GET",
  path: "/api/people",
  access: "any",
  action: "people",
  tag: "people",
  summary: "List people by id: all for the owner, otherwise the token's own person",
  query: z.strictObject({ after: z.string().max(64).optional(), limit: limitQuery(500, 100) }),
  output: pageSchema(personRecordSchema, "after", z.string()),
  async handle({ context, principal, query: { after, limit } }) {
    const { store } = context.ports;
    if (!isOwners(principal)) {
      const own = principal.person === undefined ? undefined : await store.person(principal.person);
      return { json: listOf(own ? [own] : []) };
    }
    const items = await store.people({ limit, after });
    return {
      json: listOf(
        items,
        nextOf(items, limit, ({ id }) => id),
      ),
    };
  },
});

const showRoute = defineRoute({
  name: "getPerson",
  method: "GET",
  path: "/api/people/:person",
  access: "any",
  action: "people",
  tag: "people",
  summary: "One person's record: any for the owner, otherwise the token's own person",
  params: personParams,
  output: personRecordSchema,
  async handle({ context, principal, params }) {
    // The same answer as for a person who does not exist.
    if (!isOwners(principal) && principal.person !== params.person) {
      throw new NotFoundError(`There is no person ${params.person}.`);
    }
    return { json: await requirePerson(context.ports, params.person) };
  },
});

const addRoute = defineRoute({
  name: "addPerson",
  method: "POST",
  path: "/api/people",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Add a person; a guest unless `role` says otherwise",
  example: { id: "ann", name: "Ann", accounts: ["telegram:42"], timeZone: "Europe/Rome" },
  body: z.strictObject({
    id: z.string().trim().min(1).max(64),
    name: z.string().max(200).optional(),
    role: role.optional(),
    accounts: z.array(account).max(32).optional(),
    grants: grantsSchema.optional(),
    limits: personLimitsSchema.optional(),
    timeZone: z.string().max(64).optional(),
    language: z.string().max(35).optional(),
  }),
  output: { 201: personRecordSchema },
  async handle({ context, principal, surface, body, record }) {
    assertOwner(principal);
    const also = (json: PersonRecord) => record({ status: 201 as const, json });
    const json = await addPerson(context.ports, actorOf(principal, surface), body, also);
    peopleChanged(context);
    return { status: 201 as const, json };
  },
});

/** One change of one record, with its row in the audit log. */
async function change(call: Call<{ person: string }>, what: PersonChange) {
  const { context, principal, surface, params, record } = call;
  assertOwner(principal);
  const also = (json: PersonRecord) => record({ json });
  const json = await changePerson(context.ports, actorOf(principal, surface), params.person, what, also);
  peopleChanged(context);
  return { json };
}

const patchRoute = defineRoute({
  name: "patchPerson",
  method: "PATCH",
  path: "/api/people/:person",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Change a person's name, role, time zone, language or limits; null removes one",
  params: personParams,
  example: { name: "Ann B.", timeZone: null },
  body: z.strictObject({
    name: z.string().max(200).nullable().optional(),
    role: role.optional(),
    timeZone: z.string().max(64).nullable().optional(),
    language: z.string().max(35).nullable().optional(),
    limits: personLimitsSchema.nullable().optional(),
  }),
  output: personRecordSchema,
  handle: (call) => change(call, { action: "person.set", args: call.body, change: patched(call.body) }),
});

/** The person's logins and invitations end in the same commit. */
async function removeWithLogins(context: GatewayContext, by: Actor, id: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await removePerson(context.ports, by, id, [await context.logins.ending(id)]);
      break;
    } catch (error) {
      if (!(error instanceof ConflictError) || tries >= TRIES) throw error;
    }
  }
  await loginsChanged(context);
}

const TRIES = 5;

const removeRoute = defineRoute({
  name: "removePerson",
  method: "DELETE",
  path: "/api/people/:person",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Remove a person; what they started has no rights from then on",
  params: personParams,
  output: z.strictObject({ removed: z.string() }),
  async handle({ context, principal, surface, params }) {
    assertOwner(principal);
    await removeWithLogins(context, actorOf(principal, surface), params.person);
    return { json: { removed: params.person } };
  },
});

const linkRoute = defineRoute({
  name: "linkAccount",
  method: "POST",
  path: "/api/people/:person/accounts",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Link an account on a channel, such as telegram:42, to a person",
  params: personParams,
  example: { account: "telegram:42" },
  body: z.strictObject({ account }),
  output: personRecordSchema,
  handle: (call) => change(call, { action: "person.link", args: call.body, change: linked(call.body.account) }),
});

const unlinkRoute = defineRoute({
  name: "unlinkAccount",
  method: "DELETE",
  path: "/api/people/:person/accounts",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Unlink an account from a person",
  params: personParams,
  query: z.strictObject({ account }),
  output: personRecordSchema,
  handle: (call) => change(call, { action: "person.unlink", args: call.query, change: unlinked(call.query.account) }),
});

const grantRoute = defineRoute({
  name: "grantRight",
  method: "POST",
  path: "/api/people/:person/grants",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Grant something to a person, or ask for it or deny it; replaces the grant with the same subject",
  params: personParams,
  example: { subject: "read(notes/**)", verdict: "allow", note: "for the report" },
  body: z.strictObject({
    subject,
    verdict: z.enum(VERDICTS).default("allow"),
    note: z.string().trim().max(1_000).optional(),
  }),
  output: personRecordSchema,
  handle(call) {
    const { verdict, note } = call.body as { verdict: Verdict; note?: string };
    const grant = grantOf(verdict, call.body.subject, note);
    return change(call, { action: "person.grant", args: call.body, change: granted(grant) });
  },
});

const revokeRoute = defineRoute({
  name: "revokeRight",
  method: "DELETE",
  path: "/api/people/:person/grants",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Take a grant away, by its subject",
  params: personParams,
  query: z.strictObject({ subject }),
  output: personRecordSchema,
  handle: (call) => change(call, { action: "person.revoke", args: call.query, change: revoked(call.query.subject) }),
});

export const peopleRoutes: readonly Route[] = [
  listRoute,
  showRoute,
  addRoute,
  patchRoute,
  removeRoute,
  linkRoute,
  unlinkRoute,
  grantRoute,
  revokeRoute,
];
