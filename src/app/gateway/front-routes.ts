/** The routes that are there from the first moment: what a program asks for as soon as it can. The others are loaded by whoever asks. */

import { healthzRoute, readyzRoute } from "./api/health-routes.ts";
import type { Route } from "./http/route.ts";
import { chatCompletionsRoute } from "./openai/chat-completions.ts";

export const FRONT_ROUTES: readonly Route[] = [chatCompletionsRoute, healthzRoute, readyzRoute];
