/** `rookery sessions show`: shows the last entries of a conversation, or exports a session as a file. Only reads. */

import { dirname, join } from "node:path";
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import { type Block, readEntry } from "../../../core/history/entry.ts";
import { shortId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { unansweredText } from "../../../core/message/unanswered-message.ts";
import { printableJson } from "../../../core/printable.ts";
import { describeCompaction } from "../../../engine/context/compaction/describe-compaction.ts";
import type { AgentHandle, HistoryPage } from "../../client/agent-handle.ts";
import { archiveSession } from "../archive-session.ts";
import { reading } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Options } from "../command.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine, printable } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { relativeTime } from "../relative-time.ts";
import { upTo } from "../up-to.ts";

const LIMIT = 20;
const MAX = 1_000;
const MAX_LINE = 500;

const OPTIONS = {
  before: { type: "string", value: "N", description: "only entries before this position" },
  limit: { type: "string", value: "N", description: `how many entries at most (default: ${LIMIT})` },
  full: { type: "boolean", description: "do not cut long texts" },
  transcript: {
    type: "string",
    value: "VERSION",
    description: "print one session as a session file of version 2 or 3",
  },
  session: { type: "string", value: "ID", description: "which session (default: the current one)" },
  export: { type: "string", value: "DIR", description: "write the session file into this directory" },
  archive: {
    type: "string",
    value: "DIR",
    description: "write the session from its last compaction on into this directory, and the whole session as .bak",
  },
} as const satisfies Options;

export const showConversation = defineAction({
  summary: "show the conversation of an agent",
  usage: "<agent id, key or name>",
  description:
    "Shows the last entries, oldest first. Long texts are cut; --full shows them whole. --transcript prints one session as a session file, and --export writes it into a directory; an existing file is never overwritten.",
  arguments: { min: 1, max: 1 },
  options: OPTIONS,
  async run(context) {
    const { args, flags } = context;
    const limit = limitFlag(flags.limit, LIMIT, MAX);
    const first = numberFlag(flags.before, "--before");
    const version = versionOf(flags.transcript) ?? (flags.export === undefined ? undefined : 2);
    if (flags.session !== undefined && version === undefined)
      throw new UsageError("--session needs --transcript or --export.");
    return reading(context, async (rookery) => {
      const agent = rookery.agent((await rookery.agents.get(args[0] ?? "")).id);
      if (version !== undefined || flags.archive !== undefined) return writeSession(context, agent, version);
      const { items: newest, next } = await upTo(limit, first, (count, before) =>
        agent.history({ limit: count, before }),
      );
      const items = newest.toReversed();
      const shown = items.flatMap((item) => [entryText(item, flags.full ?? false), ...unansweredLines(item)]);
      const text = shown.length === 0 ? "This conversation is empty." : shown.join("\n");
      return printResult(context, listOf(items.map(recordOf), next), text);
    });
  },
});

async function writeSession(
  context: CommandContext<typeof OPTIONS>,
  agent: AgentHandle,
  version: 2 | 3 | undefined,
): Promise<undefined> {
  const { flags, paths, stdout, stderr } = context;
  const { name, text, skipped } = await agent.transcript({ session: flags.session, version, cwd: paths.workspace });
  if (flags.archive !== undefined) {
    const archived = await archiveSession(flags.archive, name, text);
    if ("refused" in archived)
      throw new InvalidInputError(archived.refused, {
        hint: "Nothing was written. Use --export to write the whole session.",
      });
    const { file, backup, left } = archived;
    return printResult(context, archived, `Wrote ${file}; ${left} older entries are only in ${backup}.`);
  }
  for (const { line, reason } of skipped) stderr.write(`rookery: warning: skipped line ${line}: ${reason}\n`);
  if (flags.export === undefined) {
    stdout.write(printableJson(text));
    return undefined;
  }
  const file = join(flags.export, name);
  await writeNew(file, text);
  return printResult(context, { file }, file);
}

function versionOf(text: string | undefined): 2 | 3 | undefined {
  if (text === undefined) return undefined;
  if (text === "2") return 2;
  if (text === "3") return 3;
  throw new UsageError("--transcript takes 2 or 3.");
}

/** Creates a file that only this user can read. Never overwrites one. */
async function writeNew(file: string, text: string): Promise<void> {
  const { mkdir, writeFile } = await import("node:fs/promises");
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const isThere = (cause as { code?: unknown }).code === "EEXIST";
    const what = isThere ? "already exists and was not changed" : `cannot be written: ${(cause as Error).message}`;
    throw new InvalidInputError(`${file} ${what}.`, { cause, hint: "Choose another directory." });
  }
}

type Item = HistoryPage["items"][number];

/** A broken line as it is. */
const recordOf = ({ position, entry, line, unanswered }: Item): Record<string, unknown> =>
  entry ? { position, entry, unanswered } : { position, broken: line };

/** A line for each message that got no answer, below the entry that records it or came before it. */
const unansweredLines = ({ unanswered = [] }: Item): readonly string[] =>
  unanswered.map(({ seq, text, settledAt, runId, ...end }) => {
    const why = oneLine(unansweredText(end), MAX_LINE);
    const run = runId === undefined ? "" : `  run ${shortId(runId)}`;
    return `${" ".repeat(6)}  ${relativeTime(settledAt, Date.now()).padEnd(12)}  no answer  message ${seq} "${oneLine(text, 60)}" ${why}${run}`;
  });

function entryText({ position, entry: written, line = JSON.stringify(written) }: Item, isFull: boolean): string {
  const show = (text: string): string => (isFull ? printable(text) : oneLine(text, MAX_LINE));
  const row = (at: number | undefined, what: string, text: string): string =>
    `${String(position).padStart(6)}  ${relativeTime(at, Date.now()).padEnd(12)}  ${what.padEnd(10)} ${show(text)}`.trimEnd();
  const read = readEntry(line);
  if (read.kind === "broken") return row(undefined, "broken", read.reason);
  if (read.kind === "unknown") return row(undefined, read.type, "(unknown type, kept)");
  const { entry } = read;
  switch (entry.type) {
    case "session":
      return row(Date.parse(entry.timestamp) || undefined, "session", entry.id);
    case "start":
      return row(entry.timestamp, "start", `session ${entry.sessionId}`);
    case "reset":
      return row(entry.timestamp, "reset", [`session ${entry.sessionId}`, entry.message].filter(Boolean).join(": "));
    case "message": {
      const failed = entry.errorMessage === undefined ? "" : ` [error: ${entry.errorMessage}]`;
      return row(entry.timestamp, entry.role, `${blocksText(entry.content)}${failed}`);
    }
    case "custom_message":
      return row(entry.timestamp, entry.hidden ? "(hidden)" : "note", blocksText(entry.content));
    case "custom":
      return row(entry.timestamp, "custom", `${entry.name} ${JSON.stringify(entry.data) ?? ""}`);
    case "compaction":
      return row(entry.timestamp, "compaction", `${describeCompaction(entry)}: ${entry.summary}`);
    case "branch_summary":
      return row(entry.timestamp, "branch", entry.summary);
  }
}

function blocksText(blocks: readonly Block[]): string {
  const texts = blocks.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "thinking":
        return `(thinking) ${block.thinking}`;
      case "image":
        return "<image>";
      case "toolCall":
        return `→ ${block.name}(${JSON.stringify(block.arguments)})`;
      default:
        return "";
    }
  });
  return texts.join("\n");
}
