/** Every route of the gateway. What is not in this table does not exist. */

import {
  agentRoute,
  agentRunsRoute,
  agentsRoute,
  branchRoute,
  compactRoute,
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
} from "./api/agent-routes.ts";
import { configRoute, reloadRoute } from "./api/config-routes.ts";
import { healthRoute, metricsRoute, nodesRoute, openApiRoute } from "./api/health-routes.ts";
import { deliveryRoute, dropRoute, outboxRoute, retryRoute } from "./api/outbox-routes.ts";
import { abortRoute, agentEventsRoute, runEventsRoute, runRoute, steerRoute, waitRoute } from "./api/run-routes.ts";
import { sessionRoute, sessionsRoute } from "./api/session-routes.ts";
import { budgetsRoute, liftRoute, usageRoute } from "./api/spend-routes.ts";
import {
  releaseSubagentRoute,
  stopSubagentRoute,
  subagentRoute,
  subagentsRoute,
  tellSubagentRoute,
  waitForSubagentRoute,
} from "./api/subagent-routes.ts";
import { removeSwarmRoute, swarmRoute, swarmsRoute } from "./api/swarm-routes.ts";
import { mintRoute, revokeRoute, tokensRoute } from "./api/token-routes.ts";
import { diagnosisRoute, treeEventsRoute, treeRoute } from "./api/tree-routes.ts";
import {
  addJobRoute,
  changeJobRoute,
  heartbeatRoute,
  hookRoute,
  jobRoute,
  jobRunsRoute,
  jobsRoute,
  removeJobRoute,
  runHeartbeatRoute,
  runJobRoute,
  wakeRoute,
} from "./api/trigger-routes.ts";
import { FRONT_ROUTES } from "./front-routes.ts";
import type { Route } from "./http/route.ts";
import { modelRoute, modelsRoute } from "./openai/models.ts";
import { responsesRoute } from "./openai/responses.ts";

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
  compactRoute,
  branchRoute,
  subagentsRoute,
  subagentRoute,
  waitForSubagentRoute,
  tellSubagentRoute,
  stopSubagentRoute,
  releaseSubagentRoute,
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
  runHeartbeatRoute,
  wakeRoute,
  hookRoute,
  configRoute,
  reloadRoute,
  tokensRoute,
  mintRoute,
  revokeRoute,
];
