/** Tokens: who has one, a new one for somebody, and none any more. Each mints at most what it has itself. */
import { z } from "zod";
import { SCOPES } from "../auth/scope.ts";
import { defineRoute } from "../http/route.ts";

export const tokensRoute = defineRoute({
  method: "GET",
  path: "/api/tokens",
  access: "any",
  tag: "tokens",
  summary: "The tokens this one may see: all for an admin, else itself and what came from it",
  answers: { status: 200, holds: "`{ tokens: [...] }`, without anything that opens" },
  handle: ({ context, principal }) => ({ json: { tokens: context.tokens.list(principal) } }),
});

export const mintSchema = z.strictObject({
  name: z.string().trim().min(1).max(128),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
  expiresInDays: z.number().positive().max(36_500).optional(),
  person: z.string().trim().min(1).max(256).optional(),
  limits: z
    .strictObject({
      requestsPerMinute: z.number().positive().max(1_000_000).optional(),
      tokensPerDay: z.number().positive().optional(),
      dollarsPerDay: z.number().positive().optional(),
    })
    .optional(),
});

export const mintRoute = defineRoute({
  method: "POST",
  path: "/api/tokens",
  access: "any",
  tag: "tokens",
  summary: "Make a token with at most the scopes of the one that asks; it is shown this once",
  body: mintSchema,
  answers: { status: 201, holds: "`{ token, record }`" },
  async handle({ context, principal, body }) {
    const json = await context.tokens.mint(principal, body);
    context.remoteNodes?.tellChanged("tokens");
    return { status: 201, json };
  },
});

export const revokeRoute = defineRoute({
  method: "DELETE",
  path: "/api/tokens/:token",
  access: "any",
  tag: "tokens",
  summary: "Revoke a token and everything it minted; their open streams are closed",
  params: z.object({ token: z.string().regex(/^[a-z0-9]{12}$/, "the id of a token") }),
  answers: { status: 200, holds: "`{ revoked: [ids] }`" },
  async handle({ context, principal, params }) {
    const revoked = await context.tokens.revoke(principal, params.token);
    context.remoteNodes?.tellChanged("tokens");
    return { json: { revoked } };
  },
});
