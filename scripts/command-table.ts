/**
 * `npm run tool -- commands`: compares the tables in docs/cli.md and docs/chat-commands.md with the commands. With `--write` it writes
 * the tables.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { actionsOf } from "../src/app/cli/choose-action.ts";
import type { Action, Command } from "../src/app/cli/command.ts";
import { HELP_COLUMNS } from "../src/app/cli/help-groups.ts";
import { REGISTRY } from "../src/app/cli/registry.ts";
import type { ChatCommand } from "../src/engine/commands/chat-command.ts";
import { chatCommands } from "../src/engine/commands/chat-commands.ts";

const DOCS = join(import.meta.dirname, "../docs");
const BEGIN = "<!-- commands: written by npm run tool -- commands -->\n";
const END = "<!-- end of commands -->";

/** The page about what a command works on, by the beginning of its name. The longest one counts. */
const PAGES: Readonly<Record<string, string>> = {
  agents: "agents-together.md",
  "agents subagents": "subagents.md",
  approvals: "approvals.md",
  backup: "operations.md#backup",
  "backup restore": "operations.md#restore",
  channels: "channels.md",
  "channels add telegram": "telegram.md",
  "channels add webhook": "webhook.md",
  "channels add whatsapp": "whatsapp.md",
  "channels add whatsapp-web": "whatsapp-web.md",
  "channels outbox": "deliveries.md",
  chat: "terminal.md",
  config: "configuration.md",
  "config changes": "changes.md",
  "config completion": "#completion",
  demo: "terminal.md#the-demo",
  doctor: "operations.md#doctor",
  "engine audit": "audit.md",
  "engine copy": "scaling.md",
  "engine install": "operations.md#service",
  "engine nodes": "scaling.md",
  "engine prune": "operations.md#removing-what-is-old",
  "engine remotes": "#an-engine-elsewhere",
  "engine repair": "operations.md",
  "engine update": "operations.md#update",
  mcp: "mcp.md",
  models: "models.md",
  open: "control-room.md",
  people: "people.md#managing-people",
  "people files": "files.md",
  "people forget": "people.md#forgetting-a-person",
  "people invite": "people.md#invitations",
  "people requests": "people.md#pairing",
  "people tokens": "access.md",
  permissions: "permissions.md",
  "runs replay": "operations.md#replay",
  schedules: "triggers.md",
  "schedules heartbeat": "heartbeat.md",
  "schedules webhooks": "hooks.md",
  send: "#send",
  serve: "gateway.md",
  sessions: "transcript.md",
  "sessions carry-over": "identity.md#changing-the-scope",
  setup: "terminal.md#setup",
  skills: "skills.md",
  "skills install": "skills.md#installing",
  usage: "budgets.md",
};

/** The commands that are in the tables. */
export const loadCommands = async (): Promise<ReadonlyMap<string, Command>> =>
  new Map(await Promise.all(Object.entries(REGISTRY).map(async ([name, { load }]) => [name, await load()] as const)));

export function commandTables(commands: ReadonlyMap<string, Command>): string {
  const tables = HELP_COLUMNS.flat().map(([title, names]) => {
    const rows = Object.keys(names).flatMap((name) => {
      const command = commands.get(name);
      return command ? actionsOf(name, command).map(([path, action]) => rowOf(path, action)) : [];
    });
    return [`| ${title} | what it does | flags |`, "| --- | --- | --- |", ...rows, ""].join("\n");
  });
  return `\n${tables.join("\n")}\n`;
}

function rowOf(path: string, { usage, summary, options = {} }: Action): string {
  const call = ["rookery", path, usage].filter(Boolean).join(" ").replaceAll("|", String.raw`\|`);
  const flags = Object.keys(options).map((name) => `\`--${name}\``);
  return `| \`${call}\` | ${linked(path, summary)} | ${flags.join(", ")} |`;
}

function linked(path: string, summary: string): string {
  const parts = path.split(" ");
  const page = parts.map((_, at) => PAGES[parts.slice(0, parts.length - at).join(" ")]).find(Boolean);
  const text = summary.replaceAll("|", String.raw`\|`);
  return page === undefined ? text : `[${text}](${page})`;
}

const WHO: Readonly<Record<ChatCommand["who"], string>> = {
  writers: "everyone who may write there",
  own: "the person of the conversation",
  owner: "the owner",
};

export function chatCommandTable(): string {
  const rows = chatCommands.map(({ name, usage, help, who }) => {
    const call = `/${[name, usage].filter(Boolean).join(" ")}`.replaceAll("|", String.raw`\|`);
    return `| \`${call}\` | ${help} | ${WHO[who]} |`;
  });
  return ["| command | what it does | who may use it |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

interface WrittenPage {
  readonly file: string;
  readonly text: string;
  /** The text with the tables of now. */
  readonly now: string;
}

export function writtenPages(commands: ReadonlyMap<string, Command>): readonly WrittenPage[] {
  const tables = [
    ["cli.md", commandTables(commands)],
    ["chat-commands.md", chatCommandTable()],
  ] as const;
  return tables.map(([name, table]) => {
    const file = join(DOCS, name);
    const text = readFileSync(file, "utf8");
    const from = text.indexOf(BEGIN) + BEGIN.length;
    return { file, text, now: `${text.slice(0, from)}${table}${text.slice(text.indexOf(END))}` };
  });
}

if (import.meta.main) {
  for (const { file, text, now } of writtenPages(await loadCommands())) {
    if (process.argv.includes("--write")) writeFileSync(file, now);
    else if (now !== text) {
      process.stderr.write(`${file} differs from the commands; run npm run tool -- commands --write\n`);
      process.exitCode = 1;
    }
  }
}
