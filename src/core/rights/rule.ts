/**
 * A rule of the gate as text: `exec(git push *)`, `write(src/**)`, `web(domain:example.org)`, `mcp__server__tool`, `cron_add`,
 * `send_agent_message(agent:clerk)`. What it is about is read once; the grants of people are written in the same way.
 */
import { type Grant, parseSubject, type Verdict, verdictOf } from "../people/grant.ts";
import { shellTokens } from "./shell-words.ts";
import { CALL } from "./standing-yes.ts";

/** A rule with where it stands and why. */
export interface Rule {
  readonly verdict: Verdict;
  readonly text: string;
  /** Where it is written: `permissions`, `profiles.main`, `agent`, the id of a person. */
  readonly source: string;
  /** The justification: shown to the model and to people. */
  readonly because?: string;
  /** The call that a yes for always covers, for people. */
  readonly shows?: string;
  /** Counts only while text that the person did not write is in context; an allowance counts then too (M32). */
  readonly when?: "untrusted";
}

export function ruleOf(grant: Grant, source: string): Rule {
  const { verdict, subject: text } = verdictOf(grant);
  return { verdict, text, source, because: grant.note, shows: grant.shows, when: grant.when };
}

/** What a rule is about, ready to be compared. */
export interface RuleSubject {
  /** The actions it covers; the last sign of one may be `*`. */
  readonly actions: readonly string[];
  /** What stands in the parentheses. Absent: every use of the actions. */
  readonly target?: string;
  readonly command?: CommandPattern;
  readonly path?: PathPattern;
  readonly host?: HostPattern;
}

export interface CommandPattern {
  /** Each word with its alternatives. */
  readonly words: readonly (readonly string[])[];
  /** The same without case, for questions and denials. */
  readonly folded: readonly (readonly string[])[];
  /** More words may follow. */
  readonly open: boolean;
}

export interface PathPattern {
  /** The names of the path. */
  readonly names: readonly string[];
  readonly folded: readonly string[];
  /** What it is relative to. */
  readonly from: "root" | "home" | "workspace";
}

export interface HostPattern {
  /** The domain and everything below it. `*`: every host. */
  readonly domain: string;
  readonly port?: number;
}

export const READS: readonly string[] = ["read", "list", "grep", "find"];
export const WRITES: readonly string[] = ["write", "edit", "apply_patch"];

/** One name in a rule stands for several actions. */
const ACTION_GROUPS: Readonly<Record<string, readonly string[]>> = {
  read: READS,
  write: WRITES,
  web: ["web", "web_fetch", "web_search"],
};

/** Names that people bring along from other programs. */
const ALIASES: Readonly<Record<string, string>> = {
  Bash: "exec",
  Read: "read",
  Write: "write",
  Edit: "write",
  WebFetch: "web",
  WebSearch: "web_search",
};

export type ParsedRule = { readonly subject: RuleSubject } | { readonly wrong: string };

const MAX_WORDS = 64;

/** Never throws. `wrong` says what to write instead. */
export function parseRule(text: string): ParsedRule {
  const parsed = parseSubject(text);
  if (!parsed) return { wrong: "expected ACTION or ACTION(WHAT), such as exec(git push *) or write(src/**)" };
  const { target } = parsed;
  if (parsed.action === CALL) return { wrong: `${CALL}(…) is stored by a yes for always only` };
  const action = Object.hasOwn(ALIASES, parsed.action) ? (ALIASES[parsed.action] as string) : parsed.action;
  const isAlias = action !== parsed.action;
  const group = Object.hasOwn(ACTION_GROUPS, action) ? ACTION_GROUPS[action] : undefined;
  const actions = group ?? (isWholeServer(action) ? [action, `${action}__*`] : [action]);
  if (target === undefined) return { subject: { actions } };
  const subject = { actions, target };
  switch (action) {
    case "exec": {
      const read = commandOf(isAlias && target.endsWith(":*") ? `${target.slice(0, -2)} *` : target);
      return "wrong" in read ? read : { subject: { ...subject, command: read } };
    }
    case "read":
    case "write":
      return target.startsWith("files:") ? { subject } : { subject: { ...subject, path: pathOf(target) } };
    case "web":
    case "web_fetch":
    case "web_search": {
      const host = hostOf(target);
      return host === undefined
        ? { wrong: "expected a domain, such as web(domain:example.org)" }
        : { subject: { ...subject, host } };
    }
    default:
      return { subject };
  }
}

/** `mcp__server` means all tools of that server. */
const isWholeServer = (action: string): boolean => action.startsWith("mcp__") && action.split("__").length === 2;

function commandOf(target: string): CommandPattern | { readonly wrong: string } {
  // `|` separates alternatives here; a pipe is never part of one command.
  const read = shellTokens(target.replaceAll("|", "\u0001").replaceAll("*", "\u0002"));
  if ("unparsed" in read) return { wrong: `the command cannot be read: ${read.unparsed}` };
  const words = read.tokens.map((token) => (token.is === "word" ? token.text : undefined));
  if (words.length === 0 || words.length > MAX_WORDS || words.includes(undefined)) {
    return { wrong: "expected one command without ;, &, < and >, such as exec(git push *)" };
  }
  const spelled = words.map((word) => (word ?? "").replaceAll("\u0002", "*"));
  const isOpen = spelled.at(-1) === "*";
  const fixed = isOpen ? spelled.slice(0, -1) : spelled;
  const alternatives = fixed.map((word) => word.split("\u0001"));
  return { words: alternatives, folded: alternatives.map((word) => word.map(folded)), open: isOpen };
}

function pathOf(target: string): PathPattern {
  const from = target.startsWith("/") ? "root" : target.startsWith("~/") ? "home" : "workspace";
  const names = namesOf(from === "home" ? target.slice(2) : target);
  return { names, folded: names.map(folded), from };
}

/** Without case: some file systems make no difference. */
export const folded = (text: string): string => text.normalize("NFC").toLowerCase();

/** Without empty names and `.`; `..` takes the name before it away. */
export function namesOf(path: string): readonly string[] {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names;
}

const HOST = /^(?:[\p{L}\p{N}_-]+\.)*[\p{L}\p{N}_-]+\.?$/u;

function hostOf(target: string): HostPattern | undefined {
  if (target === "*" || target === "domain:*") return { domain: "*" };
  if (!target.startsWith("domain:")) return undefined;
  const [name = "", port, ...more] = target.slice("domain:".length).replace(/^\*\./u, "").split(":");
  if (more.length > 0 || name.length > 255 || !HOST.test(name)) return undefined;
  if (port !== undefined && !/^[1-9]\d{0,4}$/u.test(port)) return undefined;
  return { domain: plainHost(name), port: port === undefined ? undefined : Number(port) };
}

/** Without case and without a final dot. */
export const plainHost = (host: string): string => host.toLowerCase().replace(/\.$/u, "");
