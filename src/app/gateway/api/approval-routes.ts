/**
 * Questions about tool calls: list, show, answer (M31). The owner sees all of them, a person their own. An application sees those
 * of its users, and answers as the `user` it names.
 */

import { z } from "zod";
import { DeniedError, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import { APPROVAL_STATES, type Approval, OPEN_APPROVALS, parseApprovalId } from "../../../core/rights/approval.ts";
import { ALWAYS_SCOPES } from "../../../core/rights/standing-yes.ts";
import { isOwners } from "../auth/actor.ts";
import { seesPerson } from "../auth/judge-request.ts";
import type { Principal } from "../auth/principal.ts";
import { speakerOf } from "../auth/speaker.ts";
import { withApprovalNames } from "../reads/with-names.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { pageSchema } from "../schemas/list.ts";
import { alwaysOffersSchema, approvalSchema } from "../schemas/rights.ts";
import { limitQuery, nextOf, numberQuery, requireAgent } from "./params.ts";

const approvalParams = z.object({ approval: z.string().min(1).max(64) });
const user = z.string().trim().min(1).max(256).optional();

/** Who asks: the owner, the token's person, or the user that an application names. Undefined: an application itself. */
const viewerOf = (principal: Principal, named?: string): PersonId | undefined =>
  isOwners(principal) ? OWNER : (principal.person ?? speakerOf(principal, named)?.person);

const unknown = (id: string): NotFoundError =>
  new NotFoundError(`There is no approval ${id.slice(0, 64)}.`, { hint: "GET /api/approvals lists them." });

const listRoute = defineRoute({
  name: "listApprovals",
  method: "GET",
  path: "/api/approvals",
  access: "any",
  action: "approvals",
  tag: "approvals",
  summary: "List questions about tool calls, newest first: the open ones, or those in a state",
  query: z.strictObject({
    state: z.enum([...APPROVAL_STATES, "open", "all"]).default("open"),
    agent: z.string().min(1).max(512).optional(),
    user,
    before: numberQuery(),
    limit: limitQuery(500, 100),
  }),
  output: pageSchema(approvalSchema, "before", z.number()),
  async handle(call) {
    const { context, principal, query } = call;
    const { state, agent, user: named, before, limit } = query;
    const agentId = agent === undefined ? undefined : (await requireAgent(call, agent)).id;
    const states = state === "all" ? undefined : state === "open" ? OPEN_APPROVALS : [state];
    const filter = { limit, beforeN: before, states, agentId };
    const viewer = viewerOf(principal, named);
    const { store } = context.ports;
    // The page is cut before it is filtered, so that `next` reaches every row.
    const found = await store.approvals(filter);
    const items = viewer === undefined ? found : await context.agents.approvals.visible(found, viewer);
    const seen = viewer === undefined ? items.filter((one) => isSeen(principal, one)) : items;
    return {
      json: listOf(
        await withApprovalNames(store, seen),
        nextOf(found, limit, ({ n }) => n),
      ),
    };
  },
});

/** Of an application that names no user: what belongs to its users. A token from before tokens had kinds sees nothing. */
const isSeen = (principal: Principal, { behalf }: Approval): boolean =>
  principal.kind === "application" && seesPerson(principal, behalf.person);

const showRoute = defineRoute({
  name: "getApproval",
  method: "GET",
  path: "/api/approvals/:approval",
  access: "any",
  action: "approvals",
  tag: "approvals",
  summary: "One question about a tool call",
  params: approvalParams,
  query: z.strictObject({ user }),
  output: approvalSchema.extend({
    always: alwaysOffersSchema
      .optional()
      .describe(
        "While it is open: the rules that a yes for always would store, for exactly this call or for its pattern.",
      ),
  }),
  async handle({ context, principal, params, query }) {
    const approval = await required(context, principal, params.approval, query.user);
    const [named] = await withApprovalNames(context.ports.store, [approval]);
    if (approval.state !== "pending") return { json: named ?? approval };
    return { json: { ...(named ?? approval), always: await context.agents.approvals.offers(approval) } };
  },
});

async function required(
  { agents, ports }: Call["context"],
  principal: Principal,
  text: string,
  named: string | undefined,
): Promise<Approval> {
  const id = parseApprovalId(text);
  if (id === undefined) throw unknown(text);
  const viewer = viewerOf(principal, named);
  if (viewer !== undefined) return agents.approvals.get(id, viewer);
  const approval = await ports.store.approval(id);
  if (!approval || !isSeen(principal, approval)) throw unknown(text);
  return approval;
}

const decideRoute = defineRoute({
  name: "decideApproval",
  method: "POST",
  path: "/api/approvals/:approval",
  access: "chat",
  action: "approvals",
  own: true,
  tag: "approvals",
  summary: "Answer a question about a tool call: the first answer counts",
  params: approvalParams,
  example: { answer: "no", reason: "Not on a Friday." },
  body: z.strictObject({
    answer: z.enum(["yes", "no"]),
    /** Also allows the same from now on, by a rule of the person: exactly this call, or its pattern. */
    always: z.enum(ALWAYS_SCOPES).optional(),
    reason: z.string().trim().min(1).max(500).optional(),
    /** The digest that the person was shown. A yes needs it. */
    digest: z.string().max(128).optional(),
    user,
  }),
  output: approvalSchema,
  errors: { 409: "Another answer was first." },
  async handle(call) {
    const { context, principal, surface, body } = call;
    const { id } = await required(context, principal, call.params.approval, body.user);
    const person = viewerOf(principal, body.user);
    if (person === undefined) {
      throw new DeniedError("This token answers for no one.", { hint: "Name the `user` who answers." });
    }
    const token = surface === "control" ? undefined : principal.id;
    const decider = { person, surface: surface === "control" ? "control" : "api", token };
    const { answer, always, reason, digest } = body;
    if (answer === "yes" && digest === undefined) {
      throw new InvalidInputError("A yes names the call that it is for.", {
        hint: "Send the `digest` of the question that the person was shown.",
      });
    }
    const also = (json: Approval) => call.record({ json });
    const given = { approve: answer === "yes", always, reason, digest };
    return { json: await context.agents.approvals.decide(id, given, decider, also) };
  },
});

export const approvalRoutes: readonly Route[] = [listRoute, showRoute, decideRoute];
