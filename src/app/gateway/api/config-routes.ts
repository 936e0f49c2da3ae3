/** The current configuration, with secrets masked by their type, and reloading its file. */
import { z } from "zod";
import { ConfigError } from "../../../core/errors.ts";
import { actorOf } from "../auth/actor.ts";
import { HttpError } from "../http/http-error.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { reloadReportSchema } from "../schemas/status.ts";
import { peopleChanged } from "./logins-changed.ts";

const configRoute = defineRoute({
  name: "getConfig",
  method: "GET",
  path: "/api/config",
  access: "operate",
  action: "manage.config",
  tag: "configuration",
  summary: "The current configuration, secrets masked",
  output: z.record(z.string(), z.unknown()).describe("The configuration with every default."),
  handle: ({ context }) => ({ json: context.settings.current.config }),
});

const reloadRoute = defineRoute({
  name: "reloadConfig",
  method: "POST",
  path: "/api/config/reload",
  access: "admin",
  action: "manage.config",
  tag: "configuration",
  summary: "Reload the configuration file",
  output: reloadReportSchema,
  async handle({ context, principal, surface }) {
    try {
      const json = await context.reload(actorOf(principal, surface));
      // The file may have other people in it.
      peopleChanged(context);
      return { json };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // The file is the input of this request: its line, column and reason are the answer.
      throw new HttpError(400, error.code, error.message, { hint: error.hint, cause: error });
    }
  },
});

export const configRoutes: readonly Route[] = [configRoute, reloadRoute];
