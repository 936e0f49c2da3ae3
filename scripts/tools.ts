/** The generators and proofs that are rarely used, each with the file that `npm run tool -- NAME` starts. */
export interface ToolScript {
  readonly file: string;
  readonly about: string;
  readonly usage?: string;
}

export const TOOLS: Readonly<Record<string, ToolScript>> = {
  api: { file: "scripts/api-pages.ts", usage: "[--write]", about: "docs/api, from the comments of the entry points" },
  budgets: {
    file: "scripts/budgets.ts",
    usage: "[--write | --list KIND [PATH]]",
    about: "what the project wants less of, counted per folder",
  },
  channels: { file: "scripts/channel-table.ts", usage: "[--write]", about: "the table of docs/channels.md" },
  "cli-schema": {
    file: "scripts/cli-schema.ts",
    usage: "[--write]",
    about: "docs/cli.schema.json, from the types of the commands",
  },
  commands: {
    file: "scripts/command-table.ts",
    usage: "[--write]",
    about: "the tables of docs/cli.md and docs/chat-commands.md",
  },
  config: {
    file: "scripts/config-reference.ts",
    usage: "[--write]",
    about: "docs/reference/configuration.md and the JSON schema, from the schema of the configuration",
  },
  "compare-peers": {
    file: "bench/peers/main.ts",
    usage: "[--help]",
    about: "measures Rookery beside OpenClaw, DBOS and Restate; needs a network",
  },
  conformance: {
    file: "test/mcp/conformance.ts",
    about: "runs the conformance suite of MCP on the client and the server",
  },
  counts: {
    file: "scripts/counts.ts",
    usage: "[--write]",
    about: "words, commands, keys and scripts a newcomer meets",
  },
  flaky: { file: "test/flaky/main.ts", usage: "[--times N]", about: "repeats the slow tests under load" },
  guards: {
    file: "test/guards/main.ts",
    usage: "[--only TEXT]",
    about: "disables the guards against hostile input and lists those that no test misses",
  },
  http: { file: "scripts/http-routes.ts", usage: "[--write]", about: "docs/reference/http.md, from the route table" },
  lock: { file: "scripts/complete-lock.ts", about: "completes package-lock.json after `npm install`" },
  malformed: { file: "test/malformed/main.ts", usage: "[--help]", about: "sends malformed events to all connectors" },
  mutations: {
    file: "scripts/run-proofs.ts",
    about: "runs all of the simulation, crash and fuzz tests; `npm test` runs a share",
  },
  "optional-locks": {
    file: "scripts/optional-locks.ts",
    about: "the lock files of the optional packages; needs a network",
  },
  package: { file: "scripts/check-package.ts", usage: "[--bun]", about: "packs, installs and tries the package" },
  patterns: {
    file: "scripts/patterns.ts",
    usage: "[--write] [--all]",
    about: "proves that the regular expressions of src are linear",
  },
  prompt: {
    file: "scripts/prompt-size.ts",
    usage: "[--check]",
    about: "the tokens of a default prompt and of its tools",
  },
  rights: { file: "scripts/rights-table.ts", usage: "[--write]", about: "the table of docs/rights.md" },
  screens: {
    file: "scripts/screens/main.ts",
    usage: "[offline|online|demo]",
    about: "records the terminal pictures of the docs",
  },
  screenshots: {
    file: "test/web/screenshots.ts",
    usage: "[DIR] [VIEW…]",
    about: "takes the pictures of the control room",
  },
  tarball: { file: "scripts/pack-package.ts", about: "builds the package and packs it into a file" },
  telegram: {
    file: "test/telegram/main.ts",
    usage: "[--help]",
    about: "runs the larger proofs of the Telegram connector",
  },
  walk: {
    file: "scripts/walk-message.ts",
    usage: "[--files | --write | --check]",
    about: "the modules that one message enters; files with --files",
  },
  words: { file: "scripts/words.ts", usage: "[--list] [PATH…]", about: "finds sentences that sound translated" },
};

export function toolsHelp(): string {
  const lines = Object.entries(TOOLS).map(
    ([name, { usage = "", about }]) => [`${name} ${usage}`.trim(), about] as const,
  );
  const width = Math.max(...lines.map(([left]) => left.length)) + 2;
  return [
    "Usage: npm run tool -- NAME [options]",
    "",
    ...lines.map(([left, about]) => `  ${left.padEnd(width)}${about}`),
  ].join("\n");
}
