/** The tools for the web in a node: one client for outgoing requests, and the search that the configuration names. */
import { outgoingHttp } from "../../adapters/system/outgoing-http.ts";
import { AllowedAddresses } from "../../adapters/system/public-address.ts";
import { webSearch } from "../../adapters/tools/web/web-search.ts";
import { webTools } from "../../adapters/tools/web/web-tools.ts";
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Current } from "../../core/current.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Tool } from "../../core/ports/tool.ts";

interface WebParts {
  readonly settings: Current<Config>;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function nodeWebTools({ settings, paths, clock, env }: WebParts): readonly Tool[] {
  const http = outgoingHttp({ allowed: () => new AllowedAddresses(settings.current.network.allowPrivate) });
  const secrets = secretDeps(paths.home, env);
  return webTools({
    http,
    clock,
    search() {
      const { search } = settings.current.web;
      if (!search) return undefined;
      const { provider, url, apiKey } = search;
      return webSearch({ provider, url, http, apiKey: apiKey && (() => apiKey.reveal(secrets)) });
    },
  });
}
