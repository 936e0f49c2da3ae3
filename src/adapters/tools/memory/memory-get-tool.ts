/** `memory_get`: the text around a hit of `memory_search`, in a conversation of the same person or in a note. Reads only. */
import { join } from "node:path";
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { readEntry, type Untrusted } from "../../../core/history/entry.ts";
import { type AgentId, isAgentId } from "../../../core/ids.ts";
import type { Tool, ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { sessionBehalf } from "../../../engine/people/run-behalf.ts";
import { NOTE_DIRECTORY, notePaths } from "../../search/note-files.ts";
import { cleanMessage } from "../agents/clean-history.ts";
import { textOfAgent } from "../agents/text-of-agent.ts";
import { noGuard } from "../files/prompt-guard.ts";
import { isMarkedNote } from "./marked-note.ts";
import { type MemoryDeps, scopeOf } from "./memory-deps.ts";
import { trustedNote } from "./trusted-note.ts";

const MAX_AROUND = 40;
const LINES_OF_NOTE = 60;

const input = z.strictObject({
  ref: z.string().min(1).max(600).describe("The reference in brackets of a hit, or a note's path"),
  around: z.int().min(0).max(MAX_AROUND).optional().describe("Messages before and after it; 4 if left out"),
});

export const memoryGetTool = (deps: MemoryDeps): Tool<z.infer<typeof input>> => ({
  name: "memory_get",
  description: "Shows what stands around a hit of memory_search.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 20_000,
  async execute({ ref, around = 4 }, context) {
    const chat = /^chat:([a-z0-9]{2,32})#(\d{1,15})$/.exec(ref);
    if (chat) return conversationAt(deps, context, { id: chat[1] ?? "", position: Number(chat[2]), around });
    const [, path = "", line] = /^(?:note:)?([^#]{1,300})(?:#(\d{1,9}))?$/.exec(ref) ?? [];
    return noteAt(deps, context, path, Number(line ?? 1));
  },
});

const notFound = (ref: string) =>
  new NotFoundError(`There is no memory "${ref.slice(0, 100)}".`, { hint: "Use a reference of memory_search." });

interface Place {
  readonly id: string;
  readonly position: number;
  readonly around: number;
}

async function conversationAt(
  deps: MemoryDeps,
  context: ToolContext,
  { id, position, around }: Place,
): Promise<ToolOutput> {
  const { people } = await scopeOf(deps, context);
  const agent = isAgentId(id) ? await deps.store.agent(id as AgentId) : undefined;
  if (!agent?.person || agent.stopped?.removed || !Array.isArray(people) || !people.includes(agent.person))
    throw notFound(`chat:${id}#${position}`);
  // Calls and results of tools stand between what was said.
  const limit = (2 * around + 1) * 4;
  const lines = await deps.store.linesBack(agent.id, { before: position + limit / 2 + 1, limit });
  const { texts, marked } = messagesIn(lines, position, around);
  if (texts.length === 0) throw notFound(`chat:${id}#${position}`);
  return {
    content: [{ type: "text", text: `${agent.sessionKey}\n\n${texts.join("\n\n")}` }],
    heard: [sessionBehalf(agent as AgentRecord)],
    untrusted: textOfAgent(context, agent) ?? marked,
  };
}

function messagesIn(lines: readonly { position: number; line: string }[], at: number, around: number) {
  let marked: Untrusted | undefined;
  const said: { readonly position: number; readonly text: string }[] = [];
  for (const { position, line } of lines.toReversed()) {
    const read = readEntry(line);
    if (read.kind !== "entry" || read.entry.type !== "message") continue;
    // What a tool brought stands behind the words that follow, although it is not shown itself.
    marked ??= read.entry.untrusted;
    const message = cleanMessage(read.entry, false);
    if (!message) continue;
    const day = new Date(message.at ?? 0).toISOString().slice(0, 16).replace("T", " ");
    said.push({ position, text: `${day} ${message.role === "user" ? "person" : "agent"}: ${message.text}` });
  }
  const middle = said.findIndex(({ position }) => position >= at);
  const from = Math.max(0, (middle === -1 ? said.length : middle) - around);
  return { texts: said.slice(from, from + 2 * around + 1).map(({ text }) => text), marked };
}

const pathsIn = ({ guard = noGuard }: MemoryDeps, directory: string): readonly string[] =>
  notePaths(directory, guard.names(join(directory, NOTE_DIRECTORY)));

async function noteAt(deps: MemoryDeps, context: ToolContext, path: string, line: number): Promise<ToolOutput> {
  const [directory] = (await scopeOf(deps, context)).notes;
  // Only a path that a listing has: nothing leads out of the directory.
  const known = directory !== undefined && pathsIn(deps, directory).includes(path);
  const text = known ? trustedNote(deps.guard, directory, path) : undefined;
  if (text === undefined || directory === undefined) throw notFound(path);
  const lines = text.split("\n");
  const from = Math.max(1, Math.min(line, lines.length) - 5);
  const shown = lines.slice(from - 1, from - 1 + LINES_OF_NOTE).join("\n");
  const rest = lines.length - (from - 1 + LINES_OF_NOTE);
  const more = rest > 0 ? `\n[${rest} more lines: ask for ${path}#${from + LINES_OF_NOTE + 5}]` : "";
  return {
    content: [{ type: "text", text: `${path}, from line ${from}:\n${shown}${more}` }],
    untrusted: isMarkedNote(deps.marks, directory, path) ? { from: `file:${path}` } : undefined,
  };
}
