/** `rookery history`: what was said to an agent and by it, the newest part in the order it happened. Only reads. */
import { dirname, join } from "node:path";
import { InvalidInputError } from "../../../core/errors.ts";
import { type Block, readEntry } from "../../../core/history/entry.ts";
import type { SessionId } from "../../../core/ids.ts";
import type { Line } from "../../../core/store/store.ts";
import { describeCompaction } from "../../../engine/context/compaction/describe-compaction.ts";
import { exportSession } from "../../../engine/context/transcript/export-session.ts";
import { archiveSession } from "../archive-session.ts";
import { defineAction } from "../command.ts";
import { findAgent } from "../find-agent.ts";
import { oneLine, printable, timeText, wholeNumberFlag } from "../plain-text.ts";
import { readHome } from "../read-home.ts";

const LIMIT = 20;
const MAX = 1_000;
const MAX_LINE = 500;

export const historyCommand = defineAction({
  summary: "show what was said to an agent and by it",
  usage: "<agent id or session key>",
  description:
    "The last entries, oldest first; long texts are cut unless --full is given. With --transcript or --export one session is written as a session file instead: printed, or put into a directory under its own name (a file that is there already is left alone).",
  arguments: { min: 1, max: 1 },
  options: {
    limit: { type: "string", value: "N", description: `how many entries at most (default: ${LIMIT})` },
    full: { type: "boolean", description: "texts as long as they are" },
    transcript: { type: "string", value: "VERSION", description: "one session as a file: 2 or 3" },
    session: { type: "string", value: "ID", description: "which session (default: the current one)" },
    export: { type: "string", value: "DIR", description: "write the file into this directory" },
    archive: {
      type: "string",
      value: "DIR",
      description: "write it there instead: what the last compaction kept, and the whole of it as .bak",
    },
  },
  async run({ args: [who = ""], flags, paths, json, stdout, stderr, loadConfig }) {
    const limit = wholeNumberFlag(flags.limit, LIMIT, MAX);
    if (limit === undefined) throw new InvalidInputError(`--limit takes a whole number from 1 to ${MAX}.`);
    const version = versionOf(flags.transcript) ?? (flags.export === undefined ? undefined : 2);
    if (flags.session !== undefined && version === undefined)
      throw new InvalidInputError("--session goes with --transcript or --export.");
    const { config } = await loadConfig();
    await readHome(paths, async (store) => {
      const agent = await findAgent(store, who, config.session.mainKey);
      if (version !== undefined || flags.archive !== undefined) {
        const sessionId = flags.session as SessionId | undefined;
        const { name, text, skipped } = await exportSession(store, agent, { sessionId, version, cwd: paths.workspace });
        if (flags.archive !== undefined) {
          const archived = await archiveSession(flags.archive, name, text);
          if ("refused" in archived) throw new InvalidInputError(archived.refused, { hint: "Nothing was written." });
          const { file, backup, left } = archived;
          const told = `${file} written; ${left} older entries are only in ${backup}.`;
          stdout.write(json ? `${JSON.stringify(archived)}\n` : `${told}\n`);
          return;
        }
        for (const { line, reason } of skipped) stderr.write(`rookery: warning: line ${line} left out: ${reason}\n`);
        if (flags.export === undefined) return void stdout.write(text);
        const file = join(flags.export, name);
        await writeNew(file, text);
        stdout.write(json ? `${JSON.stringify({ file })}\n` : `${file}\n`);
        return;
      }
      const lines = [...(await store.linesBack(agent.id, { limit }))].reverse();
      if (json)
        stdout.write(`${JSON.stringify(lines.map(({ position, line }) => ({ position, ...recordOf(line) })))}\n`);
      else
        stdout.write(
          lines.length === 0
            ? "Nothing yet.\n"
            : `${lines.map((line) => entryText(line, flags.full ?? false)).join("\n")}\n`,
        );
    });
    return undefined;
  },
});

function versionOf(text: string | undefined): 2 | 3 | undefined {
  if (text === undefined) return undefined;
  if (text === "2") return 2;
  if (text === "3") return 3;
  throw new InvalidInputError("--transcript takes 2 or 3.");
}

/** Only for this user, and never over something that is there. */
async function writeNew(file: string, text: string): Promise<void> {
  const { mkdir, writeFile } = await import("node:fs/promises");
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const isThere = (cause as { code?: unknown }).code === "EEXIST";
    const what = isThere ? "is there already and was left alone" : `cannot be written: ${(cause as Error).message}`;
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
