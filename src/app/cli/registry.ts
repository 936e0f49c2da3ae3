/**
 * All commands, in the order of the help. To add one, write `commands/<name>.ts` and add an entry here. The file is loaded
 * only when its command runs.
 */
import type { Command } from "./command.ts";

export interface Registration {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export type Registry = Readonly<Record<string, Registration>>;

export const REGISTRY: Registry = {
  chat: {
    summary: "talk with an agent in the terminal",
    load: async () => (await import("./commands/chat.ts")).chatCommand,
  },
  demo: {
    summary: "show in twenty seconds what it does: work, schedules, budgets, a kill -9 and the answers after it",
    load: async () => (await import("./commands/demo.ts")).demoCommand,
  },
  setup: {
    summary: "choose a model, your name, time zone, daily limit, morning briefing, channel and service",
    load: async () => (await import("./commands/setup.ts")).setupCommand,
  },
  send: {
    summary: "send one message and print the answer",
    load: async () => (await import("./commands/send.ts")).sendCommand,
  },
  status: {
    summary: "show what an engine does: cost today, what works, failed, comes next and waits",
    load: async () => (await import("./commands/status.ts")).statusCommand,
  },
  remote: {
    summary: "save, list and remove engines elsewhere",
    load: async () => (await import("./commands/remote.ts")).remoteCommand,
  },
  run: {
    summary: "answer the text you name or pipe in, then exit",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  serve: {
    summary: "run the agents and serve the HTTP gateway",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  open: {
    summary: "open the control room in a browser",
    load: async () => (await import("./commands/open.ts")).openCommand,
  },
  tokens: {
    summary: "list, mint and revoke tokens for the gateway",
    load: async () => (await import("./commands/tokens.ts")).tokensCommand,
  },
  people: {
    summary: "list, add, invite and remove people; link accounts, grant rights, set limits",
    load: async () => (await import("./commands/people.ts")).peopleCommand,
  },
  forget: {
    summary: "remove everything of a person: agents, jobs, files, notes, rows",
    load: async () => (await import("./commands/forget.ts")).forgetCommand,
  },
  permissions: {
    summary: "list, add and remove rules; try a call, explain a denial",
    load: async () => (await import("./commands/permissions.ts")).permissionsCommand,
  },
  changes: {
    summary: "list, show, make and undo changes of prompt files, notes and the configuration",
    load: async () => (await import("./commands/changes.ts")).changesCommand,
  },
  pair: {
    summary: "let people and groups in who write to your bots",
    load: async () => (await import("./commands/pair.ts")).pairCommand,
  },
  audit: {
    summary: "show the audit log: who did what, for which person, and what was decided",
    load: async () => (await import("./commands/audit.ts")).auditCommand,
  },
  models: {
    summary: "show the available models, and which one is used and why; test or set one",
    load: async () => (await import("./commands/models.ts")).modelsCommand,
  },
  auth: {
    summary: "store, list and remove keys of model providers; log in with an account",
    load: async () => (await import("./commands/auth.ts")).authCommand,
  },
  config: {
    summary: "show, explain, set, check, edit and create the configuration",
    load: async () => (await import("./commands/config.ts")).configCommand,
  },
  home: {
    summary: "show the paths of the home directory",
    load: async () => (await import("./commands/home.ts")).homeCommand,
  },
  agents: {
    summary: "list agents; show, create, set, stop, start, reset or remove one; go back in its history",
    load: async () => (await import("./commands/agents.ts")).agentsCommand,
  },
  subagents: {
    summary: "list subagents; inspect, message, stop or release one",
    load: async () => (await import("./commands/subagents.ts")).subagentsCommand,
  },
  swarms: {
    summary: "list swarms; show, publish or remove one",
    load: async () => (await import("./commands/swarms.ts")).swarmsCommand,
  },
  tree: {
    summary: "show which agent started which, with their state and usage",
    load: async () => (await import("./commands/tree.ts")).treeCommand,
  },
  runs: {
    summary: "list runs; show, replay, wait for or end one",
    load: async () => (await import("./commands/runs.ts")).runsCommand,
  },
  sessions: {
    summary: "list conversations; show, search, export, archive or branch one",
    load: async () => (await import("./commands/sessions.ts")).sessionsCommand,
  },
  history: {
    summary: "show the conversation of an agent",
    load: async () => (await import("./commands/history.ts")).historyCommand,
  },
  inbox: {
    summary: "list the messages of an agent and their outcomes",
    load: async () => (await import("./commands/inbox.ts")).inboxCommand,
  },
  cron: {
    summary: "list, add, run and remove schedules",
    load: async () => (await import("./commands/cron.ts")).cronCommand,
  },
  heartbeat: {
    summary: "show the heartbeat settings and its last ticks",
    load: async () => (await import("./commands/heartbeat.ts")).heartbeatCommand,
  },
  files: {
    summary: "list, show, get, add and remove files of people",
    load: async () => (await import("./commands/files.ts")).filesCommand,
  },
  outbox: {
    summary: "list, show, retry and drop deliveries",
    load: async () => (await import("./commands/outbox.ts")).outboxCommand,
  },
  connect: {
    summary: "connect a channel: rookery connect telegram",
    load: async () => (await import("./commands/connect.ts")).connectCommand,
  },
  connectors: {
    summary: "show the accounts on channels, their state and what waits for them",
    load: async () => (await import("./commands/connectors.ts")).connectorsCommand,
  },
  approvals: {
    summary: "list the calls that wait for your answer; say yes or no",
    load: async () => (await import("./commands/approvals.ts")).approvalsCommand,
  },
  usage: {
    summary: "show tokens and cost by day, agent, person or model",
    load: async () => (await import("./commands/usage.ts")).usageCommand,
  },
  budget: {
    summary: "show what each budget has spent, and allow more",
    load: async () => (await import("./commands/budget.ts")).budgetCommand,
  },
  hooks: {
    summary: "list the webhooks of the configuration and how they are called",
    load: async () => (await import("./commands/hooks.ts")).hooksCommand,
  },
  logs: {
    summary: "show the log of the engine; follow it, filter it by agent, run or level",
    load: async () => (await import("./commands/logs.ts")).logsCommand,
  },
  doctor: {
    summary: "check this home and the engine, and say what helps",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  backup: {
    summary: "write everything of this home into one file, also while the engine runs",
    load: async () => (await import("./commands/backup.ts")).backupCommand,
  },
  restore: {
    summary: "put a backup into a home; work that was open in it is ended and told",
    load: async () => (await import("./commands/restore.ts")).restoreCommand,
  },
  prune: {
    summary: "remove ended rows and files that nothing needs, by their age",
    load: async () => (await import("./commands/prune.ts")).pruneCommand,
  },
  update: {
    summary: "install another version: backup, install, check, and back if it fails",
    load: async () => (await import("./commands/update.ts")).updateCommand,
  },
  service: {
    summary: "run the engine in the background: install, show and remove the service",
    load: async () => (await import("./commands/service.ts")).serviceCommand,
  },
  repair: {
    summary: "rebuild an unreadable database and keep the broken one, or adopt an agent",
    load: async () => (await import("./commands/repair.ts")).repairCommand,
  },
  mcp: {
    summary: "MCP servers that agents use, and this engine as one",
    load: async () => (await import("./commands/mcp.ts")).mcpCommand,
  },
  skills: {
    summary: "list, show, check, install, update and remove skills",
    load: async () => (await import("./commands/skills.ts")).skillsCommand,
  },
  nodes: {
    summary: "show the nodes of a shared store, their agents and their lag",
    load: async () => (await import("./commands/nodes.ts")).nodesCommand,
  },
  store: {
    summary: "copy everything between a home and a shared database",
    load: async () => (await import("./commands/store.ts")).storeCommand,
  },
  completion: {
    summary: "print the completion script of your shell",
    load: async () => (await import("./commands/completion.ts")).completionCommand,
  },
  version: {
    summary: "show the version",
    load: async () => (await import("./commands/version.ts")).versionCommand,
  },
  help: {
    summary: "show help for the program or a command",
    load: async () => (await import("./commands/help.ts")).helpCommand,
  },
};

/** The command that `rookery` without arguments starts, if it is registered. */
export const WITHOUT_ARGUMENTS = { piped: "run", terminal: "chat" } as const;
