/**
 * Reads what a person typed on the connector's side and submits it as a message or as one of the commands below.
 * The engine itself never looks for commands in text.
 *
 *     stop | esc | abort | wait | exit | interrupt | /stop
 *     /new | /reset [text]            /compact [instructions]        /subagents [command]
 *     /send on|off|inherit            /queue [mode] [debounce:2s] [cap:5] [drop:old] | default
 */
import type { SendDecision } from "../../core/agent/send-policy.ts";
import { DEFAULT_RESET_TRIGGERS } from "../../core/agent/session-freshness.ts";
import { unreachable } from "../../core/errors.ts";
import type { IncomingMessage } from "../../core/message/incoming-message.ts";
import type { QueueSettings } from "../../core/message/queue.ts";
import type { Accepted, ConnectorHost } from "../../core/ports/connector.ts";
import { normalizeQueueDropPolicy, normalizeQueueMode } from "./queue-settings.ts";

export type UserInput =
  | { readonly kind: "stop" }
  /** `text` follows the command: the first message of the new session. */
  | { readonly kind: "reset"; readonly text?: string }
  /** `instructions`: what the summary should pay attention to. */
  | { readonly kind: "compact"; readonly instructions?: string }
  /** `text`: the command about the agent's children. */
  | { readonly kind: "subagents"; readonly text: string }
  /** `null`: back to the default. */
  | { readonly kind: "queue"; readonly settings: Partial<QueueSettings> | null }
  | { readonly kind: "send"; readonly policy: SendDecision | null }
  /** `queue` holds for this message only. */
  | { readonly kind: "message"; readonly text: string; readonly queue?: Partial<QueueSettings> };

/**
 * Submits a person's text. Durable when it resolves. A rejection means that the text was not accepted, and the connector must
 * not acknowledge it. `mentions`: the agent's names in groups; one in front of a command is skipped.
 */
export function submitText(
  host: ConnectorHost,
  incoming: IncomingMessage,
  mentions: readonly string[] = [],
): Promise<Accepted> {
  const { text, files, ...origin } = incoming;
  const input = parseUserInput(text, host.resetTriggers, mentions);
  switch (input.kind) {
    case "message":
      return host.accept({ ...incoming, text: input.text, queue: input.queue ?? incoming.queue });
    case "stop":
      return host.command({ ...origin, command: { name: "stop" } });
    case "reset":
      return host.command({ ...origin, command: { name: "reset", text: input.text } });
    case "compact":
      return host.command({ ...origin, command: { name: "compact", instructions: input.instructions } });
    case "subagents":
      return host.command({ ...origin, command: { name: "subagents", text: input.text } });
    case "queue":
      return host.command({ ...origin, command: { name: "queue", settings: input.settings } });
    case "send":
      return host.command({ ...origin, command: { name: "send", policy: input.policy } });
    default:
      return unreachable(input, "user input");
  }
}

export function parseUserInput(text: string, triggers?: readonly string[], mentions?: readonly string[]): UserInput {
  if (isAbortText(text)) return { kind: "stop" };
  const reset = parseResetCommand(text, triggers, mentions);
  if (reset) return { kind: "reset", text: reset.text };
  const compact = /^\/compact(?:\s*:)?(?:\s+([\s\S]+))?$/iu.exec(text.trim());
  if (compact) return { kind: "compact", instructions: compact[1]?.trim() };
  const subagents = /^\/subagents(?:\s*:)?(?:\s+([\s\S]+))?$/iu.exec(text.trim());
  if (subagents) return { kind: "subagents", text: subagents[1]?.trim() ?? "" };
  const policy = parseSendDirective(text);
  if (policy !== undefined) return { kind: "send", policy };
  const directive = parseQueueDirective(text);
  if (!directive) return { kind: "message", text };
  const { rest, settings, reset: clear } = directive;
  if (rest === "") return { kind: "queue", settings: clear ? null : settings };
  return { kind: "message", text: rest, queue: clear ? undefined : settings };
}

/** Longer than any command and any name that may stand before one. */
const MAX_WORD = 1_000;

/** Clawdbot's words: alone in a message, in any case. */
const ABORT_WORDS: ReadonlySet<string> = new Set(["stop", "esc", "abort", "wait", "exit", "interrupt", "/stop"]);

export const isAbortText = (text: string): boolean => {
  const word = text.trim();
  return word.length <= MAX_WORD && ABORT_WORDS.has(word.toLowerCase());
};

const SEND_DECISIONS: Readonly<Record<string, SendDecision | null>> = {
  on: "allow",
  allow: "allow",
  off: "deny",
  deny: "deny",
  inherit: null,
  default: null,
  reset: null,
};

/**
 * The new decision; `null`: back to the rules of the configuration. Undefined if the whole text is not the directive: "/send
 * it to Ann" is a message.
 */
export function parseSendDirective(text: string): SendDecision | null | undefined {
  const typed = text.trim();
  if (typed.length > MAX_WORD) return undefined;
  const word = /^\/send(?:\s*:\s*|\s+)(\S+)$/iu.exec(typed)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(SEND_DECISIONS, word) ? SEND_DECISIONS[word] : undefined;
}

export interface QueueDirective {
  /** The text without the directive. */
  readonly rest: string;
  /** Back to the settings of the channel and the configuration. */
  readonly reset: boolean;
  readonly settings: Partial<QueueSettings>;
  /** Words of the directive with a value that cannot be read. */
  readonly invalid: readonly string[];
}

/** Undefined if the text has no such directive. */
export function parseQueueDirective(text: string): QueueDirective | undefined {
  const found = /(?<=^|\s)\/queue(?=$|[\s:])/iu.exec(text);
  if (!found) return undefined;
  const before = text.slice(0, found.index);
  let rest = text.slice(found.index + found[0].length).replace(/^\s*:/u, "");
  let reset = false;
  let settings: Partial<QueueSettings> = {};
  const invalid: string[] = [];
  for (;;) {
    const word = /^\s*(\S+)/u.exec(rest);
    const read = word?.[1] === undefined ? undefined : readWord(word[1]);
    if (!word || !read) break;
    rest = rest.slice(word[0].length);
    if (read === "reset") reset = true;
    else if ("invalid" in read) invalid.push(read.invalid);
    else settings = { ...settings, ...read };
  }
  return { rest: `${before} ${rest}`.replaceAll(/[ \t]+/gu, " ").trim(), reset, settings, invalid };
}

/** The meaning of one word; undefined ends the directive. */
function readWord(word: string): Partial<QueueSettings> | "reset" | { invalid: string } | undefined {
  const lower = word.toLowerCase();
  if (lower === "default" || lower === "reset" || lower === "clear") return "reset";
  const pair = /^(debounce|cap|drop)[:=](.*)$/u.exec(lower);
  if (!pair) {
    const mode = normalizeQueueMode(lower);
    return mode && { mode };
  }
  const [, name, value = ""] = pair;
  if (name === "debounce") {
    const debounceMs = parseDuration(value);
    return debounceMs === undefined ? { invalid: word } : { debounceMs };
  }
  if (name === "cap") {
    const cap = /^\d+$/u.test(value) ? Number(value) : 0;
    return cap >= 1 ? { cap } : { invalid: word };
  }
  const dropPolicy = normalizeQueueDropPolicy(value);
  return dropPolicy ? { dropPolicy } : { invalid: word };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in milliseconds; a number without a unit is in milliseconds. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/u.exec(text.trim().toLowerCase());
  if (!match) return undefined;
  return Math.round(Number(match[1]) * (UNITS[match[2] ?? "ms"] ?? 1));
}

export interface ResetCommand {
  /** The trigger as the configuration spells it. */
  readonly trigger: string;
  /** The text after the trigger, with its case. */
  readonly text?: string;
}

/**
 * A trigger alone or with a text after it, in any case. `mentions`: the agent's names in groups (`@rook`). One in front of the
 * trigger or joined to it (`/reset@rook`) is skipped.
 */
export function parseResetCommand(
  text: string,
  triggers: readonly string[] = DEFAULT_RESET_TRIGGERS,
  mentions: readonly string[] = [],
): ResetCommand | undefined {
  const typed = withoutMention(text.trim(), mentions);
  const [first = ""] = typed.split(/\s/u, 1);
  if (first.length > MAX_WORD) return undefined;
  const rest = typed.slice(first.length).trim();
  const word = first.toLowerCase();
  for (const trigger of triggers) {
    const wanted = trigger.trim().toLowerCase();
    if (wanted === "") continue;
    const joined = mentions.some((name) => word === `${wanted}@${bare(name)}`);
    if (word === wanted || joined) return { trigger, text: rest || undefined };
  }
  return undefined;
}

const bare = (mention: string): string => mention.trim().toLowerCase().replace(/^@/u, "");

function withoutMention(text: string, mentions: readonly string[]): string {
  const [first = ""] = text.split(/\s/u, 1);
  if (first.length > MAX_WORD) return text;
  const name = first.toLowerCase().replace(/[,:]$/u, "");
  const isMention = mentions.some((mention) => bare(mention) !== "" && name === `@${bare(mention)}`);
  return isMention ? text.slice(first.length).trim() : text;
}
