/** The current configuration, with secrets masked by their type, and reloading its file. */
import { defineRoute, type Route } from "../routing/route.ts";

const configRoute = defineRoute({
  method: "GET",
  path: "/api/config",
  access: "operate",
  tag: "configuration",
  summary: "The current configuration, secrets masked",
  answers: { status: 200, holds: "the configuration with every default" },
  handle: ({ context }) => ({ json: context.config() }),
});

const reloadRoute = defineRoute({
  method: "POST",
  path: "/api/config/reload",
  access: "admin",
  tag: "configuration",
  summary: "Reload the configuration file",
  answers: {
    status: 200,
    holds: "`{ changed, reloaded, needsRestart }`: which keys changed, which are in effect now, which need a restart",
  },
  handle: async ({ context }) => ({ json: await context.reload() }),
});

export const configRoutes: readonly Route[] = [configRoute, reloadRoute];
