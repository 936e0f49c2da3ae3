/** The words of a person's text that mean something to the queue or the session: stop words, reset words, `/queue`. */
import { DEFAULT_RESET_TRIGGERS } from "../../core/agent/session-freshness.ts";
import { type QueueSettings, queueCapSchema, queueDebounceSchema } from "../../core/message/queue.ts";
import { normalizeQueueDropPolicy, normalizeQueueMode } from "./queue-settings.ts";

/** Longer than any command and any name that may stand before one. */
const MAX_WORD = 1_000;

/** Clawdbot's words: alone in a message, in any case. */
const ABORT_WORDS: ReadonlySet<string> = new Set(["stop", "esc", "abort", "wait", "exit", "interrupt", "/stop"]);

export const isAbortText = (text: string): boolean => ABORT_WORDS.has(text.trim().toLowerCase());

export interface QueueDirective {
  /** The text without the directive. */
  readonly rest: string;
  /** Back to the settings of the channel and the configuration. */
  readonly reset: boolean;
  readonly settings: Partial<QueueSettings>;
  /** Words of the directive with a value that cannot be read or is beyond its limit. */
  readonly invalid: readonly string[];
  /** Whether the text begins with it. */
  readonly leads: boolean;
  /** The text after `/queue`. */
  readonly words: string;
}

/** Undefined if the text has no such directive. */
export function parseQueueDirective(text: string): QueueDirective | undefined {
  const found = /(?<=^|\s)\/queue(?=$|[\s:])/iu.exec(text);
  if (!found) return undefined;
  const before = text.slice(0, found.index);
  const words = text.slice(found.index + found[0].length).replace(/^\s*:/u, "");
  let rest = words;
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
  const said = `${before} ${rest}`.replaceAll(/[ \t]+/gu, " ").trim();
  return { rest: said, reset, settings, invalid, leads: before.trim() === "", words: words.trim() };
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
    const { success, data: debounceMs } = queueDebounceSchema.safeParse(parseDuration(value));
    return success ? { debounceMs } : { invalid: word };
  }
  if (name === "cap") {
    const { success, data: cap } = queueCapSchema.safeParse(
      /^\d+(?:\.\d+)?$/u.test(value) ? Math.floor(Number(value)) : undefined,
    );
    return success ? { cap } : { invalid: word };
  }
  const dropPolicy = normalizeQueueDropPolicy(value);
  return dropPolicy ? { dropPolicy } : { invalid: word };
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in milliseconds; a number without a unit is in milliseconds. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/u.exec(text.trim().toLowerCase());
  if (!match) return undefined;
  return Math.round(Number(match[1]) * UNITS[(match[2] ?? "ms") as keyof typeof UNITS]);
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

/** The text without one of these names in front of it. */
export function withoutMention(text: string, mentions: readonly string[]): string {
  const [first = ""] = text.split(/\s/u, 1);
  if (first.length > MAX_WORD) return text;
  const name = first.toLowerCase().replace(/[,:]$/u, "");
  const isMention = mentions.some((mention) => bare(mention) !== "" && name === `@${bare(mention)}`);
  return isMention ? text.slice(first.length).trim() : text;
}
