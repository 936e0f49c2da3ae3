/** The configuration as it holds now, secrets masked by their type, and reading it anew. No key of it is ever executed. */
import { defineRoute } from "../http/route.ts";

export const configRoute = defineRoute({
  method: "GET",
  path: "/api/config",
  access: "operate",
  tag: "configuration",
  summary: "The configuration as it holds now, secrets masked",
  answers: { status: 200, holds: "the configuration with every default" },
  handle: ({ context }) => ({ json: context.config() }),
});

export const reloadRoute = defineRoute({
  method: "POST",
  path: "/api/config/reload",
  access: "admin",
  tag: "configuration",
  summary: "Read the configuration file anew",
  answers: {
    status: 200,
    holds: "`{ changed, reloaded, needsRestart }`: which keys changed, which hold now, which after a restart",
  },
  handle: async ({ context }) => ({ json: await context.reload() }),
});
