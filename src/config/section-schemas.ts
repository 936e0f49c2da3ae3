/**
 * The schema of each section, loaded when a configuration has the section. `config-schema.ts` is the same with all of them; the
 * compiler compares the two.
 */
import type { configSchema } from "./config-schema.ts";

type Shape = ReturnType<(typeof configSchema)["unwrap"]>["shape"];

export const SECTION_SCHEMAS = {
  $schema: async () => (await import("./values.ts")).text("the address of a schema").optional(),
  gateway: async () => (await import("./sections/gateway.ts")).gatewaySchema,
  models: async () => (await import("./sections/models.ts")).modelsSchema,
  profiles: async () => (await import("./sections/profiles.ts")).profilesSchema,
  bindings: async () => (await import("./sections/bindings.ts")).bindingsSchema,
  owner: async () => (await import("./sections/owner.ts")).ownerSchema,
  people: async () => (await import("./sections/people.ts")).peopleSchema,
  permissions: async () => (await import("./sections/permissions.ts")).permissionsSchema.prefault({}),
  session: async () => (await import("./sections/session.ts")).sessionSchema,
  agentToAgent: async () => (await import("./sections/agent-to-agent.ts")).agentToAgentSchema,
  systemAgents: async () => (await import("./sections/system-agents.ts")).systemAgentsSchema,
  budgets: async () => (await import("./sections/budgets.ts")).budgetsSchema,
  commands: async () => (await import("./sections/commands.ts")).commandsSchema,
  connectors: async () => (await import("./sections/connectors.ts")).connectorsSchema,
  compaction: async () => (await import("./sections/compaction.ts")).compactionSchema,
  queue: async () => (await import("./sections/queue.ts")).queueSchema,
  subagents: async () => (await import("./sections/subagents.ts")).subagentsSchema,
  runs: async () => (await import("./sections/runs.ts")).runsSchema,
  cron: async () => (await import("./sections/cron.ts")).cronSchema,
  heartbeat: async () => (await import("./sections/heartbeat.ts")).heartbeatSchema,
  hooks: async () => (await import("./sections/hooks.ts")).hooksSchema,
  outbox: async () => (await import("./sections/outbox.ts")).outboxSchema,
  mailbox: async () => (await import("./sections/mailbox.ts")).mailboxSchema,
  approvals: async () => (await import("./sections/approvals.ts")).approvalsSchema,
  store: async () => (await import("./sections/store.ts")).storeSchema,
  retention: async () => (await import("./sections/retention.ts")).retentionSchema,
  log: async () => (await import("./sections/log.ts")).logSchema,
  files: async () => (await import("./sections/files.ts")).filesSchema,
  network: async () => (await import("./sections/network.ts")).networkSchema,
  sandbox: async () => (await import("./sections/sandbox.ts")).sandboxSchema,
  web: async () => (await import("./sections/web.ts")).webSchema,
  mcp: async () => (await import("./sections/mcp.ts")).mcpSchema,
  workspaces: async () => (await import("./sections/workspaces.ts")).workspacesSchema,
  telemetry: async () => (await import("./sections/telemetry.ts")).telemetrySchema,
} satisfies { readonly [Name in keyof Shape]: () => Promise<Shape[Name]> };
