/** Rules of the gate: list, add, remove, try a call, explain what was denied. Only the owner does any of it. */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { VERDICTS } from "../../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import { type Rule, ruleOf } from "../../../core/rights/rule.ts";
import { rulesIn } from "../../../engine/rights/configured-rules.ts";
import { rightsOf } from "../../../engine/rights/gate.ts";
import { addRule, grantOfRule, removed, removeRule } from "../../../engine/rights/stored-rules.ts";
import { tryCall } from "../../../engine/rights/try-call.ts";
import { ancestorsOf } from "../../../engine/subagents/tree.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";
import { auditRowSchema, type ListedRule, listedRuleSchema, ruleSchema, triedCallSchema } from "../schemas/rights.ts";
import { peopleChanged } from "./logins-changed.ts";
import { requireAgent } from "./params.ts";

const ruleText = z.string().trim().min(1).max(1_000);
const person = z.string().trim().min(1).max(64).default(OWNER);
const agent = z.string().trim().min(1).max(512).optional();
const PAGE = 500;

/** A rule with where it stands: a rule of the configuration is changed in its file. */
const listRoute = defineRoute({
  name: "listRules",
  method: "GET",
  path: "/api/permissions",
  access: "operate",
  action: "manage.permissions",
  tag: "permissions",
  summary: "List the rules of the configuration, of profiles, of people and of an agent",
  query: z.strictObject({ agent, person: z.string().trim().min(1).max(64).optional() }),
  output: listSchema(listedRuleSchema),
  async handle(call) {
    assertOwner(call.principal);
    const { context, query } = call;
    const { permissions, profiles } = context.settings.current;
    const configured = [
      ...rulesIn(permissions, "permissions"),
      ...Object.entries(profiles).flatMap(([name, profile]) =>
        profile.permissions ? rulesIn(profile.permissions, `profiles.${name}`) : [],
      ),
    ];
    const stored = await storedRules(context, query.person);
    const ofAgent = query.agent === undefined ? [] : await agentRules(call, query.agent);
    const items = [
      ...(query.person === undefined ? configured.map((rule): ListedRule => ({ ...rule, stored: false })) : []),
      ...[...stored, ...ofAgent].map((rule): ListedRule => ({ ...rule, stored: true })),
    ];
    return { json: listOf(items) };
  },
});

async function storedRules({ ports }: GatewayContext, one: string | undefined): Promise<readonly Rule[]> {
  const rules: Rule[] = [];
  for (let after = ""; ; ) {
    const page = await ports.store.people({ limit: PAGE, after });
    for (const { id, grants } of page) {
      if (one === undefined || one === id) rules.push(...grants.map((grant) => ruleOf(grant, id)));
    }
    after = page.at(-1)?.id ?? "";
    if (page.length < PAGE) return rules;
  }
}

async function agentRules(call: Pick<Call, "context" | "principal">, name: string): Promise<readonly Rule[]> {
  const { id, state } = await requireAgent(call, name);
  return (state.rules ?? []).map((grant) => ruleOf(grant, `agent:${id}`));
}

const addRoute = defineRoute({
  name: "addRule",
  method: "POST",
  path: "/api/permissions",
  access: "admin",
  action: "manage.permissions",
  tag: "permissions",
  summary: "Store a rule, for a person (default: the owner) or for one agent",
  example: { verdict: "allow", rule: "exec(npm test *)", because: "tests are harmless" },
  body: z.strictObject({
    verdict: z.enum(VERDICTS),
    rule: ruleText,
    because: z.string().trim().min(1).max(1_000).optional(),
    when: z.literal("untrusted").optional(),
    person,
    agent,
  }),
  output: ruleSchema,
  async handle(call) {
    assertOwner(call.principal);
    const { context, principal, surface, body } = call;
    const { person: whose, agent: name, ...rule } = body;
    if (name !== undefined) {
      const { id } = await requireAgent(call, name);
      const grant = grantOfRule(rule);
      await context.agents.sessions.changeRules(id, { add: grant });
      return { json: ruleOf(grant, `agent:${id}`) };
    }
    const reply = { json: ruleOf(grantOfRule(rule), whose) };
    await addRule(context.ports, actorOf(principal, surface), whose, rule, () => call.record(reply));
    peopleChanged(context);
    return reply;
  },
});

const removeRoute = defineRoute({
  name: "removeRule",
  method: "DELETE",
  path: "/api/permissions",
  access: "admin",
  action: "manage.permissions",
  tag: "permissions",
  summary: "Remove a stored rule by its text, of a person (default: the owner) or of one agent",
  query: z.strictObject({ rule: ruleText, person, agent }),
  output: z.strictObject({ removed: z.string() }),
  async handle(call) {
    assertOwner(call.principal);
    const { context, principal, surface, query } = call;
    if (query.agent !== undefined) {
      const { id, state } = await requireAgent(call, query.agent);
      removed(state.rules ?? [], query.rule, `agent ${id}`);
      await context.agents.sessions.changeRules(id, { remove: query.rule });
    } else {
      await removeRule(context.ports, actorOf(principal, surface), query.person, query.rule);
      peopleChanged(context);
    }
    return { json: { removed: query.rule } };
  },
});

const testRoute = defineRoute({
  name: "testCall",
  method: "POST",
  path: "/api/permissions/test",
  access: "operate",
  action: "manage.permissions",
  tag: "permissions",
  summary: "Try a call without making it: what the gate decides, and by which rule",
  example: { call: "exec(git push origin main)" },
  body: z.strictObject({
    call: z.string().trim().min(1).max(1_000),
    person,
    agent,
    headless: z.boolean().optional(),
    untrusted: z.boolean().optional(),
  }),
  output: triedCallSchema,
  async handle(call) {
    assertOwner(call.principal);
    const { context, body } = call;
    const { person: whose, agent: name, ...trial } = body;
    const record = name === undefined ? undefined : await requireAgent(call, name);
    const now = await context.agents.directory.now();
    const ancestors = record && (await ancestorsOf(context.ports.store, record));
    return {
      json: tryCall(rightsOf(context.settings.current), now, {
        ...trial,
        people: [whose as PersonId],
        agent: record,
        ancestors,
      }),
    };
  },
});

const explainRoute = defineRoute({
  name: "explainDecision",
  method: "GET",
  path: "/api/permissions/explain/:what",
  access: "operate",
  action: "manage.permissions",
  tag: "permissions",
  summary: "Why calls of a run, or one call, were denied or asked about, from the audit log",
  params: z.object({ what: z.string().min(1).max(512) }),
  output: listSchema(auditRowSchema),
  async handle({ context, principal, params: { what } }) {
    assertOwner(principal);
    const rows = await context.ports.store.audit({ limit: 1_000 });
    const items = rows.filter(
      ({ runId, callId, decision }) => (runId === what || callId === what) && decision !== "allow",
    );
    if (items.length > 0) return { json: listOf(items) };
    throw new NotFoundError(`No call of ${what.slice(0, 100)} was denied.`, {
      hint: "GET /api/audit?decision=deny lists what was denied, with run and call.",
    });
  },
});

export const permissionRoutes: readonly Route[] = [listRoute, addRoute, removeRoute, testRoute, explainRoute];
