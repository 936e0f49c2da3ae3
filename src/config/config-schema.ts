/** The schema of the whole configuration, made of its sections. A new section is a file in `sections/` and a line here. */
import type { z } from "zod";
import type { CarriedConversations } from "../core/agent/carried-conversations.ts";
import { agentToAgentSchema } from "./sections/agent-to-agent.ts";
import { approvalsDefaults, approvalsSchema } from "./sections/approvals.ts";
import { bindingsSchema } from "./sections/bindings.ts";
import { budgetsSchema } from "./sections/budgets.ts";
import { commandsSchema } from "./sections/commands.ts";
import { compactionDefaults, compactionSchema } from "./sections/compaction.ts";
import { connectorDefaults, connectorsSchema } from "./sections/connectors.ts";
import { cronDefaults, cronSchema } from "./sections/cron.ts";
import { fileDefaults, filesSchema } from "./sections/files.ts";
import { gatewayDefaults, gatewaySchema } from "./sections/gateway.ts";
import { heartbeatDefaults, heartbeatSchema } from "./sections/heartbeat.ts";
import { hooksSchema } from "./sections/hooks.ts";
import { logDefaults, logSchema } from "./sections/log.ts";
import { mailboxSchema } from "./sections/mailbox.ts";
import { mcpDefaults, mcpSchema } from "./sections/mcp.ts";
import { modelDefaults, modelsSchema, providerDefaults } from "./sections/models.ts";
import { networkDefaults, networkSchema } from "./sections/network.ts";
import { outboxDefaults, outboxSchema } from "./sections/outbox.ts";
import { ownerSchema } from "./sections/owner.ts";
import { peopleDefaults, peopleSchema } from "./sections/people.ts";
import { permissionsSchema } from "./sections/permissions.ts";
import { profilesSchema } from "./sections/profiles.ts";
import { queueDefaults, queueSchema } from "./sections/queue.ts";
import { retentionDefaults, retentionSchema } from "./sections/retention.ts";
import { runDefaults, runsSchema } from "./sections/runs.ts";
import { sandboxDefaults, sandboxSchema } from "./sections/sandbox.ts";
import { sessionDefaults, sessionSchema } from "./sections/session.ts";
import { storeDefaults, storeSchema } from "./sections/store.ts";
import { subagentDefaults, subagentsSchema } from "./sections/subagents.ts";
import { systemAgentsSchema } from "./sections/system-agents.ts";
import { telemetryDefaults, telemetrySchema } from "./sections/telemetry.ts";
import { webSchema } from "./sections/web.ts";
import { workspaceDefaults, workspacesSchema } from "./sections/workspaces.ts";
import { section, text } from "./values.ts";

export const configSchema = section({
  $schema: text("the address of a schema").optional().describe("for editors; the program does not read it"),
  gateway: gatewaySchema,
  models: modelsSchema,
  profiles: profilesSchema,
  bindings: bindingsSchema,
  owner: ownerSchema,
  people: peopleSchema,
  permissions: permissionsSchema.prefault({}),
  session: sessionSchema,
  agentToAgent: agentToAgentSchema,
  systemAgents: systemAgentsSchema,
  budgets: budgetsSchema,
  commands: commandsSchema,
  connectors: connectorsSchema,
  compaction: compactionSchema,
  queue: queueSchema,
  subagents: subagentsSchema,
  runs: runsSchema,
  cron: cronSchema,
  heartbeat: heartbeatSchema,
  hooks: hooksSchema,
  outbox: outboxSchema,
  mailbox: mailboxSchema,
  approvals: approvalsSchema,
  store: storeSchema,
  retention: retentionSchema,
  log: logSchema,
  files: filesSchema,
  network: networkSchema,
  sandbox: sandboxSchema,
  web: webSchema,
  mcp: mcpSchema,
  workspaces: workspacesSchema,
  telemetry: telemetrySchema,
});

export type Config = z.output<typeof configSchema> & {
  /** Added to the configuration in force by a running engine; no key of the file. */
  readonly session: { readonly carried?: CarriedConversations };
};

/** Every default, as data. */
export const configDefaults = {
  gateway: gatewayDefaults,
  /** Of each provider, and of each model of one. */
  provider: providerDefaults,
  model: modelDefaults,
  people: peopleDefaults,
  session: sessionDefaults,
  /** Of each account. */
  connector: connectorDefaults,
  compaction: compactionDefaults,
  queue: queueDefaults,
  subagents: subagentDefaults,
  runs: runDefaults,
  cron: cronDefaults,
  heartbeat: heartbeatDefaults,
  outbox: outboxDefaults,
  approvals: approvalsDefaults,
  store: storeDefaults,
  retention: retentionDefaults,
  log: logDefaults,
  files: fileDefaults,
  network: networkDefaults,
  sandbox: sandboxDefaults,
  /** Of each server. */
  mcpServer: mcpDefaults,
  workspaces: workspaceDefaults,
  telemetry: telemetryDefaults,
} as const;
