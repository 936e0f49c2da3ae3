/** The current configuration, with secrets masked by their type, and reloading its file. */
import { ConfigError } from "../../../core/errors.ts";
import { actorOf } from "../auth/actor.ts";
import { HttpError } from "../http/http-error.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { peopleChanged } from "./logins-changed.ts";

const configRoute = defineRoute({
  method: "GET",
  path: "/api/config",
  access: "operate",
  action: "manage.config",
  tag: "configuration",
  summary: "The current configuration, secrets masked",
  answers: { status: 200, holds: "the configuration with every default" },
  handle: ({ context }) => ({ json: context.settings.current.config }),
});

const reloadRoute = defineRoute({
  method: "POST",
  path: "/api/config/reload",
  access: "admin",
  action: "manage.config",
  tag: "configuration",
  summary: "Reload the configuration file",
  answers: {
    status: 200,
    holds: "`{ changed, reloaded, needsRestart }`: which keys changed, which are in effect now, which need a restart",
  },
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
