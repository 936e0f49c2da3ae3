/**
 * The mark of untrusted text (M32): text that the run's person did not write. It is stored with the entry that brings it. From
 * the same commit on, the agent's state has it until the session ends, and so has the run: what the run sends, schedules,
 * reports and writes inherits it. So no history is searched for it.
 */
import type { AgentState } from "../../core/agent/state.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import { unreachable } from "../../core/errors.ts";
import type { FileReference } from "../../core/file-reference.ts";
import type { Untrusted } from "../../core/history/entry.ts";
import type { Message, MessageBody } from "../../core/message/message.ts";
import { isUntrusted } from "../../core/people/behalf.ts";
import type { RunBody } from "../../core/run/run.ts";

type Marked = Pick<AgentState, "untrusted" | "madeUntrusted">;

/** Whether untrusted text is in the context of an agent's session. */
export const isMarked = ({ untrusted, madeUntrusted }: Marked): boolean => untrusted === true || madeUntrusted === true;

type UserBody = Extract<MessageBody, { kind: "user" }>;

/** Whether a message brings such text. */
export const isUntrustedMessage = ({ body, behalf }: Partial<Pick<Message, "body" | "behalf">>): boolean =>
  (behalf !== undefined && isUntrusted(behalf)) || (body !== undefined && bringsText(body));

/** Text of a hook comes from the network. The sender of a file did not type it, nor what a program of theirs returned for a call. */
function bringsText(body: MessageBody): boolean {
  if (body.kind === "trigger") return body.trigger.type === "webhook";
  return body.kind === "user" && (fileOf(body) !== undefined || (body.toolResults?.length ?? 0) > 0);
}

const fileOf = ({ files = [] }: UserBody): FileReference | undefined => files.find(({ untrusted }) => untrusted);

/** Where the text of a message comes from, if its person did not write it; otherwise undefined. */
export function untrustedSource(message: Pick<Message, "body" | "behalf">): Untrusted | undefined {
  const { body, behalf } = message;
  if (!isUntrustedMessage(message)) return undefined;
  switch (body.kind) {
    case "user": {
      const file = behalf && isUntrusted(behalf) ? undefined : fileOf(body);
      if (file) return { from: `file:${file.name}` };
      return { from: body.sender ? `sender:${body.sender.id}` : "message" };
    }
    case "system":
      return { from: body.origin === undefined ? "system" : `agent:${body.origin}` };
    case "report":
      return { from: `agent:${body.childId}` };
    case "trigger":
      return { from: `${body.trigger.type}:${body.trigger.id}` };
    case "reset":
    case "branch":
    case "describe":
      return { from: "message" };
    case "setting":
    case "stop":
    case "subagents":
    case "command":
    case "restore":
    case "compact":
    case "permission":
      return undefined;
    default:
      return unreachable(body, "message");
  }
}

/** The state after such text was read; undefined if nothing changes. */
export const markedState = <State extends Marked>(state: State, isNew: boolean): State | undefined =>
  isNew && state.untrusted !== true ? { ...state, untrusted: true } : undefined;

/** The same for the record of a run: what it makes from now on inherits the mark. */
export function markedBody(body: RunBody, isNew = true): RunBody {
  const { behalf } = body;
  return isNew && behalf && behalf.untrusted !== true ? { ...body, behalf: { ...behalf, untrusted: true } } : body;
}

/** Whether a part of a system prompt has the mark: a file that was written with untrusted text in context. */
export const isMarkedPrompt = (report: SystemPromptReport | undefined): boolean =>
  report?.parts.some(({ untrusted }) => untrusted === true) ?? false;
