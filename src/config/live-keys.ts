/**
 * Which keys a running process follows, and which it reads once. Every key of the schema is under exactly one entry; a test
 * changes each of them in a running process. A key under `START_KEYS` is named by the reload as one that needs a restart.
 */

/** These keys and the keys under them take effect at once. */
export const LIVE_KEYS: readonly string[] = [
  "$schema",
  "gateway.allowedHosts",
  "gateway.allowedOrigins",
  "gateway.trustedProxies",
  "gateway.publicUrl",
  "gateway.loginDays",
  "gateway.trustedProxy",
  "gateway.limits",
  "gateway.tls",
  "models",
  "profiles",
  "bindings",
  "owner",
  "people",
  "permissions",
  "session",
  "agentToAgent",
  "systemAgents",
  "budgets",
  "commands",
  "connectors",
  "compaction",
  "queue",
  "subagents",
  "runs.timeoutSeconds",
  "runs.maxIterations",
  "runs.maxConcurrent",
  "runs.blockReplyBreak",
  "runs.enforceFinalTag",
  "cron.missed",
  "cron.commandGates",
  "heartbeat",
  "hooks",
  "outbox",
  "mailbox",
  "approvals",
  "files",
  "network",
  "sandbox",
  "web",
  "mcp",
  "workspaces",
  "retention",
  "log.level",
];

/** These keys and the keys under them are read once, and why. */
export const START_KEYS: Readonly<Record<string, string>> = {
  "gateway.port": "the server is bound to it",
  "gateway.host": "the server is bound to it",
  "runs.restore": "it says what the next start does with unfinished work",
  "cron.enabled": "the triggers start with the process",
  store: "the store is opened at the start",
  "telemetry.enabled": "spans are recorded by parts that are built at the start",
};

export const isUnder = (key: string, parent: string): boolean =>
  key === parent || key.startsWith(`${parent}.`) || key.startsWith(`${parent}[`);

export const isLive = (key: string): boolean => LIVE_KEYS.some((live) => isUnder(key, live));
