/** The commands by task, the most used first, for the help. A command that is in no group is listed at the end. */

export const HELP_GROUPS: readonly (readonly [title: string, commands: readonly string[]])[] = [
  ["talk", ["chat", "send", "run", "demo"]],
  ["set up and start", ["setup", "serve", "service", "open", "connect", "completion"]],
  ["look", ["status", "doctor", "sessions", "history", "runs", "inbox", "logs", "usage"]],
  [
    "agents and their work",
    [
      "agents",
      "tree",
      "subagents",
      "swarms",
      "cron",
      "heartbeat",
      "hooks",
      "approvals",
      "outbox",
      "files",
      "memory",
      "skills",
      "mcp",
    ],
  ],
  ["people and rights", ["people", "pair", "permissions", "changes", "tokens", "audit", "forget"]],
  ["models and money", ["models", "auth", "budget"]],
  [
    "keep it running",
    [
      "backup",
      "restore",
      "update",
      "prune",
      "repair",
      "config",
      "connectors",
      "home",
      "remote",
      "nodes",
      "store",
      "version",
    ],
  ],
];
