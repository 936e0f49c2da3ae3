/**
 * The rule that "always" would store, in three widths: for this call, for this beginning, for this tool. People see all three before
 * one is stored. A rule is text that people can read, never a digest of the call.
 */
import type { Effect } from "./decide.ts";
import { parseRule, READS, WRITES } from "./rule.ts";

export const RULE_WIDTHS = ["call", "prefix", "tool"] as const;
export type RuleWidth = (typeof RULE_WIDTHS)[number];

type Asked = Pick<Effect, "action" | "target" | "detail">;

/**
 * Undefined if no rule of this width can be written: a line that cannot be read has no beginning, and an allowance must not mean more
 * than it names. A denial may.
 */
export function ruleTextOf(effect: Asked, width: RuleWidth, verdict: "allow" | "deny" = "allow"): string | undefined {
  const text = written(effect, width);
  if (text === undefined || "wrong" in parseRule(text)) return undefined;
  return verdict === "allow" && hasWildcard(effect, width) ? undefined : text;
}

/** Whether a rule would read a sign of the effect that it names as a wildcard or as a choice. */
function hasWildcard({ target, detail }: Asked, width: RuleWidth): boolean {
  if (target !== undefined) return target.includes("*");
  if (width === "tool") return false;
  switch (detail?.kind) {
    case "command": {
      const named = width === "call" ? detail.argv : detail.argv.slice(0, 1);
      return named.some((word) => word.includes("*") || word.includes("|"));
    }
    case "path":
      return (width === "call" ? detail.path : parentOf(detail.path)).includes("*");
    case "host":
      return detail.host.includes("*");
    default:
      return false;
  }
}

function written({ action, target, detail }: Asked, width: RuleWidth): string | undefined {
  if (target !== undefined) return `${action}(${target})`;
  if (width === "tool") return groupOf(action);
  switch (detail?.kind) {
    case undefined:
      return action;
    case "unparsed":
      return undefined;
    case "command":
      return `exec(${width === "call" ? detail.argv.map(quoted).join(" ") : prefixOf(detail.argv)})`;
    case "path":
      return `${detail.access}(${width === "call" ? detail.path : `${parentOf(detail.path)}/**`})`;
    case "host":
      return `web(domain:${width === "call" ? withPort(detail) : domainOf(detail.host)})`;
  }
}

function groupOf(action: string): string {
  if (READS.includes(action)) return "read";
  if (WRITES.includes(action)) return "write";
  return action === "web_fetch" || action === "web_search" ? "web" : action;
}

const PLAIN = /^[\w@%+=:,./-]+$/u;

/** As it can be written in a rule. */
const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The program and, if the next word is no option and no path, that word too: `git push`, `npm run`. */
function prefixOf([program = "", next]: readonly string[]): string {
  const isWord = next !== undefined && /^[a-z][\w-]*$/iu.test(next);
  return `${quoted(program)}${isWord ? ` ${next}` : ""} *`;
}

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0));

const withPort = ({ host, port }: { readonly host: string; readonly port?: number }): string =>
  port === undefined ? host : `${host}:${port}`;

/** The last two names; of an address in numbers, all of it. */
function domainOf(host: string): string {
  if (/^[\d.]+$|:/u.test(host)) return host;
  const names = host.split(".");
  return names.slice(isRegistry(names.slice(-2)) ? -3 : -2).join(".");
}

/** Names such as `co.uk` and `com.au`, below which everyone has a domain: a rule for all of them is never offered. */
const isRegistry = ([second = "", top = ""]: readonly string[]): boolean => top.length === 2 && second.length <= 3;
