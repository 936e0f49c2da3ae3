/**
 * Makes entries, each a child of the one before. The model is sent exactly what is written here, now and after a restart.
 * Only the engine writes a system message's tag: text from outside is escaped, so that it cannot forge one.
 */
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { cutText } from "../../core/cut-text.ts";
import { unreachable } from "../../core/errors.ts";
import type { FileReference } from "../../core/file-reference.ts";
import { type Block, type Entry, entryLine, TRANSCRIPT_VERSION, type Untrusted } from "../../core/history/entry.ts";
import { fileBlock } from "../../core/history/file-block.ts";
import { type AgentId, type EntryId, entryId, type Ids, type RunId, type SessionId } from "../../core/ids.ts";
import { isEmptyBody, type Message, type MessageBody } from "../../core/message/message.ts";
import type { ModelResult } from "../../core/ports/model.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import type { Standing } from "../../core/rights/decide.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { untrustedSource } from "../people/untrusted.ts";
import type { Appending } from "../runtime/agent-lease.ts";

/** An entry without its place. */
export type EntryDraft = Entry extends infer One ? (One extends Entry ? Omit<One, "id" | "parentId"> : never) : never;

/** The text the model reads of an entry. */
export function entryText(entry: Entry | EntryDraft): string {
  const { content } = entry as { content?: readonly { type: string; text?: string }[] };
  return (content ?? [])
    .flatMap((block) => (block.type === "text" && block.text !== undefined ? [block.text] : []))
    .join("\n");
}

/** Gives drafts their ids and parents, from a position and a leaf on. */
export function chain(ids: Ids, from: { nextPos: number; leaf: EntryId }, bare: readonly EntryDraft[]): Appending {
  let leaf = from.leaf;
  const entries = bare.map((entry, index) => {
    const id = entryId(from.nextPos + index, ids.uuid());
    const { type, ...rest } = entry as EntryDraft & { type: string };
    const chained = { type, id, parentId: leaf, ...rest } as Entry;
    leaf = id;
    return chained;
  });
  return { entries, position: from.nextPos, leaf };
}

/** The two lines every history begins with: the header that carries the descriptor, and the `start` marker. */
export function firstLines(
  ids: Ids,
  about: { descriptor: AgentDescriptor; sessionId: SessionId; at: number; cwd?: string },
): { lines: readonly string[]; leaf: EntryId } {
  const header: Entry = {
    type: "session",
    version: TRANSCRIPT_VERSION,
    id: about.sessionId,
    timestamp: new Date(about.at).toISOString(),
    cwd: about.cwd,
    descriptor: about.descriptor,
  };
  const leaf = entryId(1, ids.uuid());
  const start: Entry = { type: "start", id: leaf, parentId: null, sessionId: about.sessionId, timestamp: about.at };
  return { lines: [entryLine(header), entryLine(start)], leaf };
}

type UserBody = Extract<MessageBody, { kind: "user" }>;

const text = (value: string): Block[] => [{ type: "text", text: value }];

/** A message of the inbox as an entry. Kinds that are commands to the engine have none. `speaker`: a line about who wrote it. */
function messageEntry(message: Message, runId?: RunId, speaker?: string): EntryDraft | undefined {
  const { body, acceptedAt: timestamp, seq } = message;
  const common = { timestamp, seqs: [seq], untrusted: untrustedSource(message) };
  switch (body.kind) {
    case "user":
      return {
        type: "message",
        role: "user",
        content: userContent(body, speaker),
        runId,
        ...common,
      };
    case "system":
    case "report": {
      const origin = body.kind === "report" ? body.childId : body.origin;
      return { type: "message", role: "user", content: text(wrapSystemMessage(body.text, origin)), runId, ...common };
    }
    case "trigger": {
      const origin = `${body.trigger.type}:${body.trigger.id}`;
      return { type: "message", role: "user", content: text(wrapSystemMessage(body.text, origin)), runId, ...common };
    }
    case "permission":
      return body.text === undefined
        ? undefined
        : { type: "message", role: "user", content: text(wrapSystemMessage(body.text)), runId, ...common };
    case "reset":
    case "stop":
    case "setting":
    case "describe":
    case "branch":
    case "subagents":
    case "command":
    case "restore":
    case "compact":
      return undefined;
    default:
      return unreachable(body, "message");
  }
}

/** The words, with a line for each file of which the model is shown no more; then a block for each other file. */
function userContent({ text: said, files = [] }: UserBody, speaker: string | undefined): Block[] {
  const words = [speaker ?? [], wrapUserMessage(said, files.filter(isOnlyNamed))].flat().join("\n");
  const blocks = fileBlocks(files);
  return words === "" && blocks.length > 0 ? blocks : [...text(words), ...blocks];
}

/** A PDF without text stands in a block of its own: some models are shown its pages. */
const isOnlyNamed = ({ as, mimeType }: FileReference): boolean =>
  as === undefined || (as === "reference" && mimeType !== "application/pdf");

const fileBlocks = (files: readonly FileReference[]): Block[] =>
  files.filter((file) => !isOnlyNamed(file)).map((file) => fileBlock(fileLine(file), file));

/** Who wrote a message, as a line before it; undefined if it is the agent's own person. */
export type SpeakerLine = (message: Message) => string | undefined;

/** The entries of several messages, in order. */
export function messageEntries(messages: readonly Message[], runId?: RunId, speakerOf?: SpeakerLine): EntryDraft[] {
  const entries: EntryDraft[] = [];
  for (const message of messages) {
    const results = callerResults(message, runId);
    const entry = messageEntry(message, runId, speakerOf?.(message));
    entries.push(...results);
    // A message of results alone says nothing.
    if (entry && (results.length === 0 || !isEmptyBody(message.body))) entries.push(entry);
  }
  return entries;
}

/** The results of calls that the sender of a message has executed. */
function callerResults(message: Message, runId: RunId | undefined): EntryDraft[] {
  const { body, acceptedAt, seq } = message;
  if (body.kind !== "user" || !body.toolResults) return [];
  const untrusted = untrustedSource(message);
  return body.toolResults.map(({ callId, name, text: said, isError }) => ({
    ...toolEntry({ callId, name, content: text(said), isError: isError ?? false, untrusted }, acceptedAt, runId),
    seqs: [seq],
  }));
}

/** Several messages as one prompt. */
export function promptEntry(prompt: string, messages: readonly Message[], at: number, runId: RunId): EntryDraft {
  const seqs = messages.map((message) => message.seq);
  const untrusted = messages.map(untrustedSource).find((source) => source !== undefined);
  const files = messages.flatMap(({ body }) => (body.kind === "user" ? fileBlocks(body.files ?? []) : []));
  const content = [...text(prompt), ...files];
  return { type: "message", role: "user", content, timestamp: at, runId, seqs, untrusted };
}

/** The engine's note about a message that was given up (M48). */
export const failedMessageEntry = (message: Message, reason: string, at: number): EntryDraft => ({
  type: "message",
  role: "user",
  content: text(wrapSystemMessage(`Message ${message.seq} (${message.body.kind}) could not be handled: ${reason}`)),
  timestamp: at,
  seqs: [message.seq],
  untrusted: untrustedSource(message),
});

export const resetMarker = (sessionId: SessionId, at: number, message?: string): EntryDraft => ({
  type: "reset",
  sessionId,
  timestamp: at,
  message: message || undefined,
});

/** The text of a reset opens the new session, as a system message of the agent itself. */
export const resetText = (agentId: AgentId, message: string): string => wrapSystemMessage(message, agentId);

export function assistantEntry(result: ModelResult, at: number, runId: RunId): EntryDraft {
  return {
    type: "message",
    role: "assistant",
    content: [...result.content],
    api: result.api,
    provider: result.provider,
    model: result.model,
    usage: result.usage,
    stopReason: result.stopReason,
    errorMessage: result.error?.message,
    timestamp: at,
    runId,
  };
}

interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly content: readonly Block[];
  readonly isError: boolean;
  readonly untrusted?: Untrusted;
}

/** A tool's result is text from outside too: a page or file that contains the tag must not look like the engine. */
function toolEntry(result: ToolResult, at: number, runId: RunId | undefined): EntryDraft {
  return {
    type: "message",
    role: "tool",
    content: result.content.map((block) =>
      block.type === "text" ? { ...block, text: escapeTags(block.text) } : block,
    ),
    toolCallId: result.callId,
    toolName: result.name,
    isError: result.isError,
    timestamp: at,
    runId,
    untrusted: result.untrusted,
  };
}

/** The longest arguments in the text of a late call. */
const MAX_ARGUMENTS = 2_000;

/**
 * The outcome of a call. A call that a late yes started has no place in an answer of the model: one text of the engine tells the call
 * and its outcome, with the mark of the outcome (M31).
 */
export function callEntry(
  { callId, name, arguments: given, approval, late }: CallRecord,
  { content, isError = false, untrusted }: Pick<ToolOutput, "content" | "isError" | "untrusted">,
  at: number,
  runId: RunId,
): EntryDraft {
  if (!late) return toolEntry({ callId, name, content, isError, untrusted }, at, runId);
  const said = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const call = `${name} ${cutText(JSON.stringify(given), MAX_ARGUMENTS)}`;
  const about = `Approval ${approval} was given after the conversation had moved on. This is the outcome of its call, ${call}:`;
  const others = content.filter((block) => block.type !== "text");
  const told = text(`${wrapSystemMessage(about)}\n${escapeTags(said)}`);
  return { type: "message", role: "user", content: [...told, ...others], timestamp: at, runId, untrusted };
}

/** Escapes everything in a text that reads like one of the engine's tags, in any case or spacing. */
export const escapeTags = (text: string): string =>
  text.replace(/<(?=[\s/]*(?:system_message|speaker|file_content))/giu, "&lt;");

/** The line that says who wrote a message. Only the engine writes it. */
export function speakerLine({ person, role }: Standing, name?: string): string {
  const called = name === undefined ? "" : ` name="${attribute(onOneLine(name))}"`;
  return `<speaker id="${attribute(onOneLine(person))}" role="${role}"${called}/>`;
}

const attribute = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A message from an agent or from the system itself. `origin` comes from the store, never from text. */
export function wrapSystemMessage(text: string, origin?: string): string {
  const from = origin === undefined ? "" : ` origin="${attribute(origin)}"`;
  return `<system_message${from}>${escapeTags(text)}</system_message>`;
}

/** The same text for people: without the tag that the engine wrote. */
export const untagged = (text: string): string => text.replace("<system_message>", "").replace("</system_message>", "");

/** Names and types come from outside too; a line break in one would pass for another line. */
const onOneLine = (text: string): string => escapeTags(text.replace(/[\r\n\u2028\u2029]+/gu, " "));

function fileLine({ id, name, mimeType, size, as, why }: FileReference): string {
  const known = as === undefined ? "" : `, id ${id}`;
  const reason = why === undefined ? "" : ` ${onOneLine(why)}`;
  return `File received: ${onOneLine(name)} (${onOneLine(mimeType)}, ${size} bytes${known})${reason}`;
}

/** What a person wrote, with a line for each file. */
export function wrapUserMessage(text: string, files: readonly FileReference[] = []): string {
  return [escapeTags(text), ...files.map(fileLine)].filter((line) => line !== "").join("\n");
}
