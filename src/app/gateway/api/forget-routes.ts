/** Everything of one person: as an archive, and its removal. Only the owner does either. */
import { z } from "zod";
import { OWNER as OWNER_ID } from "../../../core/people/person.ts";
import { exportPerson } from "../../operations/forget/export-person.ts";
import { type ForgetDeps, forgetPerson, resumeForgetting } from "../../operations/forget/forget-person.ts";
import type { Access } from "../../operations/forget/forget-plan.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import { ROOT_PRINCIPAL } from "../auth/token-service.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { media } from "../routing/output.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { forgetReceiptSchema } from "../schemas/people.ts";
import { loginsChanged } from "./logins-changed.ts";

/** A person without a record has the id of an account, which is longer. */
const params = z.object({ person: z.string().min(1).max(512) });

const exportRoute = defineRoute({
  name: "exportPerson",
  method: "GET",
  path: "/api/people/:person/data",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Everything of a person as a tar.gz: record, conversations, jobs, files, workspace",
  params,
  output: media("application/gzip", "The archive"),
  async handle({ context, principal, params: { person } }) {
    assertOwner(principal);
    return { bytes: await exportPerson(await depsOf(context), person), type: "application/gzip" };
  },
});

const forgetRoute = defineRoute({
  name: "forgetPerson",
  method: "DELETE",
  path: "/api/people/:person/data",
  access: "admin",
  action: "manage.people",
  tag: "people",
  summary: "Forget a person: removes their agents, jobs, files, notes and rows, and lists where others mention them",
  params,
  output: forgetReceiptSchema,
  async handle({ context, principal, surface, params: { person } }) {
    assertOwner(principal);
    return {
      json: await inTurn(context, async () => forgetPerson(await depsOf(context), actorOf(principal, surface), person)),
    };
  },
});

/** One at a time: two that remove the same rows would only hinder each other. */
const turns = new WeakMap<GatewayContext, Promise<unknown>>();

function inTurn<T>(context: GatewayContext, act: () => Promise<T>): Promise<T> {
  const done = (turns.get(context) ?? Promise.resolve()).catch(() => undefined).then(act);
  turns.set(context, done);
  return done;
}

async function depsOf(context: GatewayContext): Promise<ForgetDeps> {
  const { ports, agents, paths, changes, traces, isIdle } = context;
  return { ports, agents, paths, changes, access: accessOf(context), works: !isIdle, traces: await traces?.() };
}

const accessOf = (context: GatewayContext): Access => {
  const { logins, tokens } = context;
  const tokensOf = (people: readonly string[]) =>
    tokens.list(ROOT_PRINCIPAL).filter(({ person }) => person !== undefined && people.includes(person));
  return {
    async count(people) {
      let count = 0;
      for (const person of people) count += (await logins.list(person)).length;
      return { logins: count, tokens: tokensOf(people).length };
    },
    async end(people) {
      await logins.endAll(people);
      for (const { id } of tokensOf(people)) await tokens.revoke(ROOT_PRINCIPAL, id);
      await loginsChanged(context);
    },
  };
};

/** Completes what a killed process began. Called once when an engine starts. */
export const finishForgetting = (context: GatewayContext): Promise<unknown> =>
  inTurn(context, async () => resumeForgetting(await depsOf(context), { person: OWNER_ID, surface: "start" }));

export const forgetRoutes: readonly Route[] = [exportRoute, forgetRoute];
