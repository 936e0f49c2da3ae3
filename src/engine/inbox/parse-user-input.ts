/**
 * Reads what a person typed on the connector's side: a stop, a reset, a compaction, a setting, or a message. The engine
 * itself never looks for commands in text.
 */

import type { SendDecision } from "../../core/agent/send-policy.ts";
import type { QueueSettings } from "../../core/message/queue.ts";
import { parseResetCommand } from "../../core/message/reset-command.ts";
import { isAbortText } from "./abort-words.ts";
import { parseQueueDirective } from "./queue-directive.ts";
import { parseSendDirective } from "./send-directive.ts";

export type Typed =
  | { readonly kind: "stop" }
  /** `text` is what follows the command: the first message of the new session. */
  | { readonly kind: "reset"; readonly text?: string }
  /** `instructions`: what a person wants to be heeded in the summary. */
  | { readonly kind: "compact"; readonly instructions?: string }
  /** `text`: what is wanted of the children. */
  | { readonly kind: "subagents"; readonly text: string }
  /** `null`: back to the default. */
  | { readonly kind: "queue"; readonly settings: Partial<QueueSettings> | null }
  | { readonly kind: "send"; readonly policy: SendDecision | null }
  /** `queue` holds for this message only. */
  | { readonly kind: "message"; readonly text: string; readonly queue?: Partial<QueueSettings> };

export function parseUserInput(text: string, triggers?: readonly string[], mentions?: readonly string[]): Typed {
  if (isAbortText(text)) return { kind: "stop" };
  const reset = parseResetCommand(text, triggers, mentions);
  if (reset) return { kind: "reset", ...(reset.text ? { text: reset.text } : {}) };
  const compact = /^\/compact(?:\s*:)?(?:\s+([\s\S]+))?$/iu.exec(text.trim());
  if (compact) return { kind: "compact", ...(compact[1] ? { instructions: compact[1].trim() } : {}) };
  const subagents = /^\/subagents(?:\s*:)?(?:\s+([\s\S]+))?$/iu.exec(text.trim());
  if (subagents) return { kind: "subagents", text: subagents[1]?.trim() ?? "" };
  const policy = parseSendDirective(text);
  if (policy !== undefined) return { kind: "send", policy };
  const directive = parseQueueDirective(text);
  if (!directive) return { kind: "message", text };
  const { rest, settings, reset: clear } = directive;
  if (rest === "") return { kind: "queue", settings: clear ? null : settings };
  return { kind: "message", text: rest, ...(clear ? {} : { queue: settings }) };
}
