/** Every route of the gateway. A route that is not in this table does not exist. */
import { agentCommandRoutes } from "./api/agent-command-routes.ts";
import { agentRoutes } from "./api/agent-routes.ts";
import { allMessagesRoutes } from "./api/all-messages-routes.ts";
import { approvalRoutes } from "./api/approval-routes.ts";
import { auditRoutes } from "./api/audit-routes.ts";
import { carryOverRoutes } from "./api/carry-over-routes.ts";
import { changeRoutes } from "./api/change-routes.ts";
import { channelRoutes } from "./api/channel-routes.ts";
import { configRoutes } from "./api/config-routes.ts";
import { connectorRoutes } from "./api/connector-routes.ts";
import { conversationRoutes } from "./api/conversation-routes.ts";
import { fileRoutes } from "./api/file-routes.ts";
import { forgetRoutes } from "./api/forget-routes.ts";
import { healthRoutes } from "./api/health-routes.ts";
import { inboxRoutes } from "./api/inbox-routes.ts";
import { logRoutes } from "./api/log-routes.ts";
import { loginRoutes } from "./api/login-routes.ts";
import { mailboxRoutes } from "./api/mailbox-routes.ts";
import { memoryRoutes } from "./api/memory-routes.ts";
import { modelTestRoutes } from "./api/model-test-routes.ts";
import { outboxRoutes } from "./api/outbox-routes.ts";
import { pairingRoutes } from "./api/pairing-routes.ts";
import { peopleRoutes } from "./api/people-routes.ts";
import { permissionRoutes } from "./api/permission-routes.ts";
import { pruneRoutes } from "./api/prune-routes.ts";
import { runRoutes } from "./api/run-routes.ts";
import { runTimelineRoutes } from "./api/run-timeline-routes.ts";
import { searchRoutes } from "./api/search-routes.ts";
import { sessionRoutes } from "./api/session-routes.ts";
import { signInRoutes } from "./api/sign-in-routes.ts";
import { skillRoutes } from "./api/skill-routes.ts";
import { spendRoutes } from "./api/spend-routes.ts";
import { statusRoutes } from "./api/status-routes.ts";
import { subagentRoutes } from "./api/subagent-routes.ts";
import { swarmRoutes } from "./api/swarm-routes.ts";
import { terminalRoutes } from "./api/terminal-routes.ts";
import { tokenRoutes } from "./api/token-routes.ts";
import { treeRoutes } from "./api/tree-routes.ts";
import { triggerRoutes } from "./api/trigger-routes.ts";
import { EAGER_ROUTES } from "./eager-routes.ts";
import { mcpRoutes } from "./mcp/mcp-routes.ts";
import { modelRoutes } from "./openai/models.ts";
import { responsesRoute } from "./openai/responses.ts";
import { uiStreamRoutes } from "./openai/ui-stream.ts";
import { pageRoutes } from "./page/page-routes.ts";
import type { Route } from "./routing/route.ts";

export const ROUTES: readonly Route[] = [
  ...EAGER_ROUTES,
  responsesRoute,
  ...uiStreamRoutes,
  ...modelRoutes,
  ...healthRoutes,
  ...statusRoutes,
  ...modelTestRoutes,
  ...logRoutes,
  ...connectorRoutes,
  ...channelRoutes,
  ...agentRoutes,
  ...memoryRoutes,
  ...inboxRoutes,
  ...allMessagesRoutes,
  ...agentCommandRoutes,
  ...subagentRoutes,
  ...swarmRoutes,
  ...runRoutes,
  ...runTimelineRoutes,
  ...treeRoutes,
  ...outboxRoutes,
  ...approvalRoutes,
  ...mailboxRoutes,
  ...fileRoutes,
  ...sessionRoutes,
  ...searchRoutes,
  ...mcpRoutes,
  ...conversationRoutes,
  ...spendRoutes,
  ...triggerRoutes,
  ...configRoutes,
  ...changeRoutes,
  ...skillRoutes,
  ...tokenRoutes,
  ...peopleRoutes,
  ...forgetRoutes,
  ...pruneRoutes,
  ...permissionRoutes,
  ...pairingRoutes,
  ...carryOverRoutes,
  ...loginRoutes,
  ...auditRoutes,
  ...terminalRoutes,
  ...signInRoutes,
  ...pageRoutes,
];
