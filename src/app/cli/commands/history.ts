/** `rookery history`: shows the last entries of a conversation, or exports a session as a file. Only reads the store. */
import { dirname, join } from "node:path";
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import { type Block, readEntry } from "../../../core/history/entry.ts";
import type { SessionId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { printableJson } from "../../../core/printable.ts";
import type { Line } from "../../../core/store/store.ts";
import { describeCompaction } from "../../../engine/context/compaction/describe-compaction.ts";
import { exportSession } from "../../../engine/context/transcript/export-session.ts";
import { archiveSession } from "../archive-session.ts";
import { defineAction } from "../command.ts";
import { findAgent } from "../find-agent.ts";
import { limitFlag, numberFlag } from "../number-flag.ts";
import { oneLine, printable, timeText } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { readHome } from "../read-home.ts";

const LIMIT = 20;
const MAX = 1_000;
const MAX_LINE = 500;

export const historyCommand = defineAction({
  summary: "show the conversation of an agent",
  usage: "<agent id or session key>",
  description:
    "Shows the last entries, oldest first. Long texts are cut; --full shows them whole. --transcript prints one session as a session file, and --export writes it into a directory; an existing file is never overwritten.",
  arguments: { min: 1, max: 1 },
  options: {
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
  },
  async run(context) {
    const {
      args: [who = ""],
      flags,
      paths,
      stdout,
      stderr,
      loadConfig,
    } = context;
    const limit = limitFlag(flags.limit, LIMIT, MAX);
    const before = numberFlag(flags.before, "--before");
    const version = versionOf(flags.transcript) ?? (flags.export === undefined ? undefined : 2);
    if (flags.session !== undefined && version === undefined)
      throw new UsageError("--session needs --transcript or --export.");
    const { config } = await loadConfig();
    await readHome(paths, async (store) => {
      const agent = await findAgent(store, who, config.session.mainKey);
      if (version !== undefined || flags.archive !== undefined) {
        const sessionId = flags.session as SessionId | undefined;
        const { name, text, skipped } = await exportSession(store, agent, { sessionId, version, cwd: paths.workspace });
        if (flags.archive !== undefined) {
          const archived = await archiveSession(flags.archive, name, text);
          if ("refused" in archived)
            throw new InvalidInputError(archived.refused, {
              hint: "Nothing was written. Use --export to write the whole session.",
            });
          const { file, backup, left } = archived;
          const done = `Wrote ${file}; ${left} older entries are only in ${backup}.`;
          return printResult(context, archived, done);
        }
        for (const { line, reason } of skipped) stderr.write(`rookery: warning: skipped line ${line}: ${reason}\n`);
        if (flags.export === undefined) return void stdout.write(printableJson(text));
        const file = join(flags.export, name);
        await writeNew(file, text);
        return printResult(context, { file }, file);
      }
      const lines = [...(await store.linesBack(agent.id, { limit, before }))].reverse();
      const items = lines.map(({ position, line }) => ({ position, ...recordOf(line) }));
      const next = lines.length < limit ? null : (lines[0]?.position ?? null);
      const shown = lines.map((line) => entryText(line, flags.full ?? false));
      const text = shown.length === 0 ? "This conversation is empty." : shown.join("\n");
      return printResult(context, listOf(items, next), text);
    });
    return undefined;
  },
});

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

function recordOf(line: string): Record<string, unknown> {
  try {
    return { entry: JSON.parse(line) as unknown };
  } catch {
    return { broken: line };
  }
}

function entryText({ position, line }: Line, isFull: boolean): string {
  const show = (text: string): string => (isFull ? printable(text) : oneLine(text, MAX_LINE));
  const row = (at: number | undefined, what: string, text: string): string =>
    `${String(position).padStart(6)}  ${timeText(at).padEnd(19)}  ${what.padEnd(10)} ${show(text)}`.trimEnd();
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
