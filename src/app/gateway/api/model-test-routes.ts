/** One test call of a model by the engine itself, with its environment and its keys. */
import { z } from "zod";
import { ConflictError } from "../../../core/errors.ts";
import { assertOwner } from "../auth/actor.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { triedModelSchema } from "../schemas/status.ts";

const TEST_MS = 120_000;

const testRoute = defineRoute({
  name: "testModel",
  method: "POST",
  path: "/api/models/test",
  access: "operate",
  action: "manage.health",
  tag: "health",
  summary: "Calls a model once for `rookery models test`, even with keys that rest after a refusal",
  example: { model: "anthropic/claude-sonnet-5" },
  body: z.strictObject({ model: z.string().trim().min(1).max(512).optional() }),
  output: triedModelSchema,
  async handle({ context, principal, body }) {
    assertOwner(principal);
    const { models, stopping } = context;
    if (!models) {
      throw new ConflictError("The program provides the model of this engine.", {
        hint: "Only models of the configuration can be tested.",
      });
    }
    return { json: await models.test(body.model, AbortSignal.any([stopping, AbortSignal.timeout(TEST_MS)])) };
  },
});

export const modelTestRoutes: readonly Route[] = [testRoute];
