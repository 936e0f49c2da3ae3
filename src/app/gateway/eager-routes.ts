/** The routes that are loaded at the start, because clients and probes call them first. A request for any other route loads the rest. */
import { probeRoutes } from "./api/health-routes.ts";
import { chatCompletionsRoute } from "./openai/chat-completions.ts";
import type { Route } from "./routing/route.ts";

export const EAGER_ROUTES: readonly Route[] = [chatCompletionsRoute, ...probeRoutes];
