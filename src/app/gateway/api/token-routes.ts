/** Tokens: list, mint, revoke. A token can grant at most its own scopes. */
import { z } from "zod";
import { errorText } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { SCOPES } from "../../../core/rights/scope.ts";
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { type Actor, auditOp } from "../../../engine/people/audit-entry.ts";
import { actorOf } from "../auth/actor.ts";
import { alreadyMinted } from "../auth/token-service.ts";
import { errorBody } from "../http/http-error.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";
import { shownTokenSchema } from "../schemas/people.ts";

const tokensRoute = defineRoute({
  name: "listTokens",
  method: "GET",
  path: "/api/tokens",
  access: "any",
  action: "tokens",
  tag: "tokens",
  summary: "List tokens: all for an admin, otherwise this one and those minted with it",
  output: listSchema(shownTokenSchema),
  handle: ({ context, principal }) => ({ json: listOf(context.tokens.list(principal)) }),
});

/** After the change: tokens are stored in a file, beside the store. Must not reject: the token is minted or revoked. */
async function recordToken(
  { ports }: GatewayContext,
  by: Actor,
  action: string,
  target: string,
  also: readonly Op[] = [],
): Promise<void> {
  await submit(ports, "audit.token", [auditOp(by, ports.clock.now(), { action, target }), ...also]).catch((error) =>
    ports.log.warn("a change of tokens is not in the audit log", { action, error: errorText(error) }),
  );
}

const mintSchema = z.strictObject({
  name: z.string().trim().min(1).max(128),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
  expiresInDays: z.number().positive().max(36_500).optional(),
  person: z.string().trim().min(1).max(64).optional(),
  app: z.string().trim().min(1).max(64).optional(),
  limits: z
    .strictObject({
      requestsPerMinute: z.number().positive().max(1_000_000).optional(),
      messagesPerDay: z.number().positive().optional(),
      tokensPerDay: z.number().positive().optional(),
      dollarsPerDay: z.number().positive().optional(),
    })
    .optional(),
});

const mintRoute = defineRoute({
  name: "mintToken",
  method: "POST",
  path: "/api/tokens",
  access: "any",
  action: "tokens",
  tag: "tokens",
  summary: "Mint a token with at most the scopes of the calling one; the answer is the only place that shows it",
  example: { name: "dashboard", scopes: ["read", "chat"], expiresInDays: 30 },
  body: mintSchema,
  output: { 201: z.strictObject({ token: z.string(), record: shownTokenSchema }) },
  errors: { 409: "It was minted with the same key before. The error names its id." },
  async handle({ context, principal, surface, body, keyed, record }) {
    const json = await context.tokens.mint(principal, body, keyed);
    const { id, name, scopes } = json.record;
    const by = actorOf(principal, surface);
    // A repeated request gets the id only.
    const also = record({ status: 409, json: errorBody(alreadyMinted(id)) });
    await recordToken(context, by, "token.mint", `${id} ${name} ${scopes.join(",")}`, also);
    context.remoteNodes?.notifyChanged("tokens");
    return { status: 201 as const, json };
  },
});

const revokeRoute = defineRoute({
  name: "revokeToken",
  method: "DELETE",
  path: "/api/tokens/:token",
  access: "any",
  action: "tokens",
  tag: "tokens",
  summary: "Revoke a token and those minted with it, and close their streams",
  params: z.object({ token: z.string().regex(/^[a-z0-9]{12}$/, "the id of a token") }),
  output: z.strictObject({ revoked: z.array(z.string()) }),
  async handle({ context, principal, surface, params }) {
    const revoked = await context.tokens.revoke(principal, params.token);
    await recordToken(context, actorOf(principal, surface), "token.revoke", revoked.join(" "));
    context.remoteNodes?.notifyChanged("tokens");
    return { json: { revoked } };
  },
});

export const tokenRoutes: readonly Route[] = [tokensRoute, mintRoute, revokeRoute];
