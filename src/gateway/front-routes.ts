/** The routes that are there from the first moment: what a program asks for as soon as it can. The others are loaded by whoever asks. */
import { chatCompletionsRoute } from "./openai/chat-completions.ts";
import type { Route } from "./route.ts";
import { healthzRoute, readyzRoute } from "./routes/health-routes.ts";

export const FRONT_ROUTES: readonly Route[] = [chatCompletionsRoute, healthzRoute, readyzRoute];
