/** Every route of the gateway. What is not in this table does not exist. */
import { FRONT_ROUTES } from "./front-routes.ts";
import { modelRoute, modelsRoute } from "./openai/models.ts";
import { responsesRoute } from "./openai/responses.ts";
import type { Route } from "./route.ts";
import {
  agentRoute,
  agentRunsRoute,
  agentsRoute,
  historyRoute,
  inboxRoute,
  messageRoute,
  messagesRoute,
  patchRoute,
  removeAgentRoute,
  resetRoute,
  sayRoute,
  startAgainRoute,
  stopRoute,
  stopTreeRoute,
} from "./routes/agent-routes.ts";
import { configRoute, reloadRoute } from "./routes/config-routes.ts";
import { healthRoute, metricsRoute, nodesRoute, openApiRoute } from "./routes/health-routes.ts";
import { deliveryRoute, dropRoute, outboxRoute, retryRoute } from "./routes/outbox-routes.ts";
import { abortRoute, agentEventsRoute, runEventsRoute, runRoute, steerRoute, waitRoute } from "./routes/run-routes.ts";
import { sessionRoute, sessionsRoute } from "./routes/session-routes.ts";
import { budgetsRoute, liftRoute, usageRoute } from "./routes/spend-routes.ts";
import { removeSwarmRoute, swarmRoute, swarmsRoute } from "./routes/swarm-routes.ts";
import { mintRoute, revokeRoute, tokensRoute } from "./routes/token-routes.ts";
import { childrenRoute, diagnosisRoute, treeEventsRoute, treeRoute } from "./routes/tree-routes.ts";
import {
  addJobRoute,
  changeJobRoute,
  heartbeatRoute,
  hookRoute,
  jobRoute,
  jobRunsRoute,
  jobsRoute,
  removeJobRoute,
  runJobRoute,
} from "./routes/trigger-routes.ts";

export const ROUTES: readonly Route[] = [
  ...FRONT_ROUTES,
  responsesRoute,
  modelsRoute,
  modelRoute,
  metricsRoute,
  openApiRoute,
  healthRoute,
  nodesRoute,
  diagnosisRoute,
  agentsRoute,
  agentRoute,
  historyRoute,
  inboxRoute,
  messagesRoute,
  messageRoute,
  sayRoute,
  resetRoute,
  stopRoute,
  stopTreeRoute,
  startAgainRoute,
  removeAgentRoute,
  patchRoute,
  childrenRoute,
  swarmsRoute,
  swarmRoute,
  removeSwarmRoute,
  agentRunsRoute,
  agentEventsRoute,
  runRoute,
  waitRoute,
  abortRoute,
  steerRoute,
  runEventsRoute,
  treeRoute,
  treeEventsRoute,
  outboxRoute,
  deliveryRoute,
  retryRoute,
  dropRoute,
  sessionsRoute,
  sessionRoute,
  usageRoute,
  budgetsRoute,
  liftRoute,
  jobsRoute,
  jobRoute,
  addJobRoute,
  changeJobRoute,
  removeJobRoute,
  runJobRoute,
  jobRunsRoute,
  heartbeatRoute,
  hookRoute,
  configRoute,
  reloadRoute,
  tokensRoute,
  mintRoute,
  revokeRoute,
];
