/**
 * All commands, in the order of the help. To add one, write `commands/<name>.ts` and add an entry here. The file is loaded
 * only when its command runs.
 */
import type { Command } from "./command.ts";

interface Registration {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export type Registry = Readonly<Record<string, Registration>>;

export const REGISTRY: Registry = {
  chat: {
    summary: "talk with an agent in the terminal",
    load: async () => (await import("./commands/chat.ts")).chatCommand,
  },
  send: {
    summary: "send a text that you name or pipe in, and print the answer",
    load: async () => (await import("./commands/send.ts")).sendCommand,
  },
  demo: {
    summary: "show in twenty seconds what it does: work, schedules, budgets, a kill -9 and the answers after it",
    load: async () => (await import("./commands/demo.ts")).demoCommand,
  },
  setup: {
    summary: "choose a model, your name, time zone, daily limit, morning briefing, channel and service",
    load: async () => (await import("./commands/setup.ts")).setupCommand,
  },
  serve: {
    summary: "run the agents and serve the HTTP gateway",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  open: {
    summary: "open the control room in a browser",
    load: async () => (await import("./commands/open.ts")).openCommand,
  },
  status: {
    summary: "show what an engine does: cost today, what works, failed, comes next and waits",
    load: async () => (await import("./commands/status.ts")).statusCommand,
  },
  doctor: {
    summary: "check this home and the engine, and say what helps",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  help: {
    summary: "show help for the program or a command",
    load: async () => (await import("./commands/help.ts")).helpCommand,
  },
  agents: {
    summary: "list agents; show, add, set, stop, reset or remove one; see its tree, inbox and subagents",
    load: async () => (await import("./commands/agents.ts")).agentsCommand,
  },
  sessions: {
    summary: "list conversations; show, search, export, archive or branch one",
    load: async () => (await import("./commands/sessions.ts")).sessionsCommand,
  },
  runs: {
    summary: "list runs; show, replay, wait for or end one",
    load: async () => (await import("./commands/runs.ts")).runsCommand,
  },
  schedules: {
    summary: "list, add, run and remove schedules; show the heartbeat and webhooks",
    load: async () => (await import("./commands/schedules.ts")).schedulesCommand,
  },
  approvals: {
    summary: "list the calls that wait for your answer; say yes or no",
    load: async () => (await import("./commands/approvals.ts")).approvalsCommand,
  },
  skills: {
    summary: "list, show, check, install, update and remove skills",
    load: async () => (await import("./commands/skills.ts")).skillsCommand,
  },
  mcp: {
    summary: "MCP servers that agents use, and this engine as one",
    load: async () => (await import("./commands/mcp.ts")).mcpCommand,
  },
  people: {
    summary: "list, add, invite and remove people; their rights, limits, requests, tokens and files",
    load: async () => (await import("./commands/people.ts")).peopleCommand,
  },
  permissions: {
    summary: "list, add and remove rules; try a call, explain a denial",
    load: async () => (await import("./commands/permissions.ts")).permissionsCommand,
  },
  channels: {
    summary: "list channels, connect one, and see what was sent",
    load: async () => (await import("./commands/channels.ts")).channelsCommand,
  },
  models: {
    summary: "show the models and which one is used; test or set one; keys and logins of providers",
    load: async () => (await import("./commands/models.ts")).modelsCommand,
  },
  usage: {
    summary: "show tokens and cost by day, agent, person or model; see budgets, and allow more",
    load: async () => (await import("./commands/usage.ts")).usageCommand,
  },
  config: {
    summary: "show, explain, set, check, edit and create the configuration; undo changes",
    load: async () => (await import("./commands/config.ts")).configCommand,
  },
  backup: {
    summary: "write the whole home into one file, even while the engine runs; restore it",
    load: async () => (await import("./commands/backup.ts")).backupCommand,
  },
  engine: {
    summary: "run the engine as a service, update it, read its logs, repair or copy its store",
    load: async () => (await import("./commands/engine.ts")).engineCommand,
  },
};

/** The command that `rookery` without arguments starts, if it is registered. */
export const WITHOUT_ARGUMENTS = { piped: "send", terminal: "chat" } as const;
