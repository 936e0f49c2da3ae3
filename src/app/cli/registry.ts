/**
 * The commands there are, in the order the help shows them. To add one: write `commands/<name>.ts`, add its line here.
 * Only the line is loaded at start; the file is when its command is called.
 */
import type { Command } from "./command.ts";

export interface Registration {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export type Registry = Readonly<Record<string, Registration>>;

export const REGISTRY: Registry = {
  run: {
    summary: "answer what is piped in, then end",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  serve: {
    summary: "keep the agents alive and answer over HTTP",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  tokens: {
    summary: "list, mint and revoke tokens of the gateway",
    load: async () => (await import("./commands/tokens.ts")).tokensCommand,
  },
  models: {
    summary: "show which models there are, which one is used and why",
    load: async () => (await import("./commands/models.ts")).modelsCommand,
  },
  auth: {
    summary: "set, list and remove keys of model providers",
    load: async () => (await import("./commands/auth.ts")).authCommand,
  },
  config: {
    summary: "see, check and start the configuration",
    load: async () => (await import("./commands/config.ts")).configCommand,
  },
  home: {
    summary: "show where everything is kept",
    load: async () => (await import("./commands/home.ts")).homeCommand,
  },
  agents: {
    summary: "list agents, show, set, stop, start and remove one, go back in its history",
    load: async () => (await import("./commands/agents.ts")).agentsCommand,
  },
  subagents: {
    summary: "list the children agents have started; inspect, tell, stop and release one",
    load: async () => (await import("./commands/subagents.ts")).subagentsCommand,
  },
  swarms: {
    summary: "list swarms, show one and take its name back",
    load: async () => (await import("./commands/swarms.ts")).swarmsCommand,
  },
  tree: {
    summary: "show who started whom, how each stands, and what it used",
    load: async () => (await import("./commands/tree.ts")).treeCommand,
  },
  history: {
    summary: "show what was said to an agent and by it",
    load: async () => (await import("./commands/history.ts")).historyCommand,
  },
  inbox: {
    summary: "list an agent's messages and how each ended",
    load: async () => (await import("./commands/inbox.ts")).inboxCommand,
  },
  cron: {
    summary: "list, add, run and remove schedules",
    load: async () => (await import("./commands/cron.ts")).cronCommand,
  },
  heartbeat: {
    summary: "show how the heartbeat is set and what its last ticks did",
    load: async () => (await import("./commands/heartbeat.ts")).heartbeatCommand,
  },
  outbox: {
    summary: "list, retry and drop deliveries",
    load: async () => (await import("./commands/outbox.ts")).outboxCommand,
  },
  budget: {
    summary: "show what was spent of what, and allow more",
    load: async () => (await import("./commands/budget.ts")).budgetCommand,
  },
  repair: {
    summary: "rebuild a database that cannot be read, keeping the broken one",
    load: async () => (await import("./commands/repair.ts")).repairCommand,
  },
  nodes: {
    summary: "show which nodes are up, what they hold and how far behind they are",
    load: async () => (await import("./commands/nodes.ts")).nodesCommand,
  },
  store: {
    summary: "move everything between a home and a shared database",
    load: async () => (await import("./commands/store.ts")).storeCommand,
  },
  version: {
    summary: "show the version",
    load: async () => (await import("./commands/version.ts")).versionCommand,
  },
  help: {
    summary: "show help, also for one command",
    load: async () => (await import("./commands/help.ts")).helpCommand,
  },
};

/** What `rookery` alone means, if there is such a command: with text piped into it, and at a terminal. */
export const WITHOUT_ARGUMENTS = { piped: "run", terminal: "chat" } as const;
