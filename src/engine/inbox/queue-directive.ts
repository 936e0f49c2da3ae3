/**
 * The `/queue` directive as people type it: `/queue[:] [mode] [debounce:2s] [cap:5] [drop:old]`, or `default`, `reset`,
 * `clear`. Read on the connector's side; the engine never looks for commands in text.
 */
import type { QueueSettings } from "../../core/message/queue.ts";
import { normalizeQueueDropPolicy, normalizeQueueMode } from "./queue-settings.ts";

export interface QueueDirective {
  /** The text without the directive. */
  readonly rest: string;
  /** Back to what the channel and the configuration say. */
  readonly reset: boolean;
  readonly settings: Partial<QueueSettings>;
  /** Words of the directive that could not be understood as what they claim to be. */
  readonly invalid: readonly string[];
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Undefined where the text holds no such directive. */
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

/** What one word says; undefined ends the directive. */
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

/** A duration in milliseconds; a bare number is milliseconds already. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/u.exec(text.trim().toLowerCase());
  if (!match) return undefined;
  return Math.round(Number(match[1]) * (UNITS[match[2] ?? "ms"] ?? 1));
}
