/**
 * Rules that name one effect: the one pattern that "always" offers besides the exact call, and the rule that a no makes. A command has
 * no pattern: no one can tell from its words which of them are data and which are programs (M43).
 */
import type { Effect } from "./decide.ts";
import { parseRule, READS, WRITES } from "./rule.ts";

type Asked = Pick<Effect, "action" | "target" | "detail">;

/** An allowance that people read in full: this file, this host, this recipient. Undefined if there is none for such an effect. */
export function patternOf(effect: Asked): string | undefined {
  const { action, target, detail } = effect;
  const isCommand = action === "exec" || detail?.kind === "command" || detail?.kind === "unparsed";
  if (isCommand || (target === undefined && detail === undefined)) return undefined;
  // A sign that a rule would read as a wildcard allows more than was asked.
  const named = target ?? (detail?.kind === "path" ? detail.path : detail?.kind === "host" ? detail.host : "");
  return named.includes("*") ? undefined : ruleOf(effect);
}

/** The rule that denies the same. A denial may mean more than it names. */
export const denialOf = (effect: Asked): string | undefined => ruleOf(effect);

function ruleOf(effect: Asked): string | undefined {
  const text = written(effect);
  return text === undefined || "wrong" in parseRule(text) ? undefined : text;
}

function written({ action, target, detail }: Asked): string | undefined {
  if (target !== undefined) return `${action}(${target})`;
  switch (detail?.kind) {
    case undefined:
      return groupOf(action);
    case "unparsed":
      return undefined;
    case "command":
      return `exec(${detail.argv.map(quoted).join(" ")})`;
    case "path":
      return `${detail.access}(${detail.path})`;
    case "host":
      return `web(domain:${detail.host}${detail.port === undefined ? "" : `:${detail.port}`})`;
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
