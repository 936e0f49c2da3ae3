/**
 * The mark of untrusted text (M32): text that the run's person did not write. It is stored with the entry that brings it. From
 * the same commit on, the agent's state has it until the session ends, and so has the run: what the run sends, schedules,
 * reports and writes inherits it. So no history is searched for it.
 */
import type { AgentState } from "../../core/agent/state.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import { unreachable } from "../../core/errors.ts";
import type { Untrusted } from "../../core/history/entry.ts";
import type { Message } from "../../core/message/message.ts";
import { isUntrusted } from "../../core/people/behalf.ts";
import type { RunBody } from "../../core/run/run.ts";

type Marked = Pick<AgentState, "untrusted" | "madeUntrusted">;

/** Whether untrusted text is in the context of an agent's session. */
export const isMarked = ({ untrusted, madeUntrusted }: Marked): boolean => untrusted === true || madeUntrusted === true;

/** Whether a message brings such text. Text of a hook always comes from the network. */
export const isUntrustedMessage = ({ body, behalf }: Partial<Pick<Message, "body" | "behalf">>): boolean =>
  (behalf !== undefined && isUntrusted(behalf)) || (body?.kind === "trigger" && body.trigger.type === "webhook");

/** Where the text of a message comes from, if its person did not write it; otherwise undefined. */
export function untrustedSource(message: Pick<Message, "body" | "behalf">): Untrusted | undefined {
  const { body } = message;
  if (!isUntrustedMessage(message)) return undefined;
  switch (body.kind) {
    case "user":
      return { from: body.sender ? `sender:${body.sender.id}` : "message" };
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
