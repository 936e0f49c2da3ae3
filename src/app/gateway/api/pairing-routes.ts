/** People and groups who wait to be let in: list, let in, refuse, block, forget. Only the owner decides. */
import { z } from "zod";
import { listOf } from "../../../core/list.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";

const codeParams = z.object({ code: z.string().min(1).max(512) });

const listRoute = defineRoute({
  name: "listPairings",
  method: "GET",
  path: "/api/pairings",
  access: "operate",
  action: "manage.people",
  tag: "people",
  summary: "People and groups who wait to be let in",
  output: listSchema(
    z.strictObject({
      code: z.string(),
      account: z.string().describe("`telegram:42`, or `telegram:group:-100`."),
      channel: z.string(),
      name: z.string().optional(),
      at: z.number(),
    }),
  ),
  async handle({ context, principal }) {
    assertOwner(principal);
    const items = (await context.agents.pairing.list()).map(({ toldAt: _, ...request }) => request);
    return { json: listOf(items, null) };
  },
});

const decideRoute = defineRoute({
  name: "decidePairing",
  method: "POST",
  path: "/api/pairings/:code",
  access: "operate",
  action: "manage.people",
  tag: "people",
  summary: "Let someone in, refuse, block or forget them, by their code or account",
  params: codeParams,
  body: z.strictObject({
    answer: z.enum(["yes", "no", "block", "forget"]).describe("`block`: nothing of the account is read any more"),
    as: z.string().min(1).max(64).optional().describe("The person the account belongs to: `owner`, or a person's id"),
  }),
  example: { answer: "yes", as: "ann" },
  output: z.strictObject({
    account: z.string(),
    person: z.string().nullable().describe("Null unless it was accepted."),
  }),
  async handle({ context, principal, surface, params, body }) {
    assertOwner(principal);
    const { pairing } = context.agents;
    const by = actorOf(principal, surface);
    switch (body.answer) {
      case "yes":
        return { json: await pairing.approve(params.code, by, body.as) };
      case "no":
        return { json: { account: (await pairing.deny(params.code, by)).account, person: null } };
      case "block":
        return { json: { account: await pairing.block(params.code, by), person: null } };
      case "forget":
        return { json: { account: await pairing.forget(params.code, by), person: null } };
    }
  },
});

const ownerRoute = defineRoute({
  name: "linkOwnerAccount",
  method: "POST",
  path: "/api/owner/accounts",
  access: "operate",
  action: "manage.people",
  tag: "people",
  summary: "Make an account the owner's own",
  body: z.strictObject({ account: z.string().min(3).max(512).describe("As `channel:id`") }),
  example: { account: "telegram:123456789" },
  output: z.strictObject({ account: z.string() }),
  async handle({ context, principal, surface, body }) {
    assertOwner(principal);
    return { json: { account: await context.agents.pairing.linkOwner(body.account, actorOf(principal, surface)) } };
  },
});

export const pairingRoutes: readonly Route[] = [listRoute, decideRoute, ownerRoute];
