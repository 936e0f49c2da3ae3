/** `rookery sessions`: conversations by their session key: list, show, search, export, archive, and go back in one. */
import { InvalidInputError } from "../../../core/errors.ts";
import { backAction } from "../ask-agent.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { type ListedPage, printPage, readPath } from "../list-page.ts";
import { limitFlag } from "../number-flag.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { carryOverAction } from "./sessions-carry-over.ts";
import { showConversation } from "./sessions-show.ts";

interface Conversation {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  readonly waiting: number;
  readonly runId: string | null;
  readonly lastHumanAt: number | null;
  readonly last?: { readonly text?: string } | null;
}

const LIMIT = 20;

const list = defineAction({
  summary: "list conversations, the latest first; with a text those with it in their name",
  usage: "[text]",
  arguments: { min: 0, max: 1 },
  options: {
    before: { type: "string", value: "NEXT", description: "the `next` of a page before" },
    limit: { type: "string", value: "N", description: `how many at most (default: ${LIMIT})` },
  },
  examples: ["rookery sessions", "rookery sessions list telegram"],
  async run(context) {
    const { args, flags } = context;
    const limit = limitFlag(flags.limit, LIMIT, 200);
    const query = new URLSearchParams({
      limit: String(limit),
      ...(args[0] ? { q: args[0] } : {}),
      ...(flags.before ? { before: flags.before } : {}),
    });
    const page = await readPath<ListedPage<Conversation>>(context, `/api/conversations?${query}`);
    const now = Date.now();
    const rows = page.items.map(({ name, waiting, runId, lastHumanAt, last }) => [
      ...[oneLine(name, 60), `${waiting}${runId ? " +run" : ""}`, relativeTime(lastHumanAt, now)],
      oneLine(last?.text ?? "", 60),
    ]);
    const head = ["name", "waiting", "last message", "text"];
    return printPage(context, page, { head, rows, empty: "No conversations.", command: "rookery sessions list" });
  },
});

const status = defineAction({
  summary: "show one conversation: its model, tokens and settings",
  usage: "<agent id, key or name>",
  arguments: { min: 1, max: 1 },
  async run(context) {
    const path = `/api/sessions/${encodeURIComponent(context.args[0] ?? "")}`;
    const found = await readPath<Record<string, unknown>>(context, path);
    const rows = Object.entries(found).filter(([, value]) => value !== null);
    const text = rows.map(([name, value]) => `${name.padEnd(18)} ${oneLine(valueText(name, value), 200)}`).join("\n");
    return printResult(context, found, text);
  },
});

const valueText = (name: string, value: unknown): string => {
  if (name.endsWith("At") && typeof value === "number") return relativeTime(value, Date.now());
  return typeof value === "string" ? value : JSON.stringify(value);
};

const search = defineAction({
  summary: "find a text in the history of a conversation",
  usage: "<agent id, key or name> <text>",
  arguments: { min: 2, max: 2 },
  examples: ["rookery sessions search main invoice"],
  async run(context) {
    const [agent = "", text = ""] = context.args;
    const path = `/api/agents/${encodeURIComponent(agent)}/search?${new URLSearchParams({ q: text })}`;
    const page = await readPath<ListedPage<{ position: number; at?: number; role?: string; text?: string }>>(
      context,
      path,
    );
    const now = Date.now();
    const lines = page.items.map(
      (item) =>
        `${String(item.position).padStart(6)}  ${relativeTime(item.at, now).padEnd(12)} ${(item.role ?? "").padEnd(10)} ${oneLine(item.text ?? "", 160)}`,
    );
    return printResult(context, page, lines.length === 0 ? "Nothing found." : lines.join("\n"));
  },
});

/** The same as `rookery sessions show` with a flag. */
const writing = (summary: string, flag: "export" | "archive") =>
  defineAction({
    summary,
    usage: "<agent id, key or name> <directory>",
    arguments: { min: 2, max: 2 },
    options: { session: { type: "string", value: "ID", description: "which session (default: the current one)" } },
    run(context) {
      const [agent = "", directory = ""] = context.args;
      if (directory === "") throw new InvalidInputError("Name a directory.");
      const run = showConversation.run as (given: CommandContext) => Promise<number | undefined>;
      return run({ ...context, args: [agent], flags: { ...context.flags, [flag]: directory } });
    },
  });

export const sessionsCommand: Group = {
  summary: "list conversations; show, search, export, archive or branch one",
  actions: {
    list,
    show: showConversation,
    status,
    search,
    export: writing("write a conversation as a session file into a directory", "export"),
    archive: writing("write a session from its last compaction on, and the whole of it as .bak", "archive"),
    "carry-over": carryOverAction,
    branch: { ...backAction, summary: "go on from an earlier entry; what came after it stays as a branch" },
  },
  fallback: "list",
};
