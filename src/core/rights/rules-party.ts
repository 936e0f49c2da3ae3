/**
 * Judges an effect by rules: one more party of `decide`, which the strictest of all parties outranks (L13). Where no rule is
 * about it, a default decides: safe commands in a sandbox, files and pages are allowed, other commands and MCP tools ask.
 */
import type { WorkspaceAccess } from "../agent/exec-fields.ts";
import { strictest } from "../people/grant.ts";
import type { Decision, Effect } from "./decide.ts";
import { DEFAULT_EXEC, type ExecPolicy } from "./exec-settings.ts";
import { isGitFile, namesGitFile } from "./git-files.ts";
import type { Place } from "./match-rule.ts";
import { isPromptFile, namesFile } from "./prompt-files.ts";
import { READS, type Rule, WRITES } from "./rule.ts";
import type { RuleSet } from "./rule-set.ts";
import { isSafeCommand } from "./safe-commands.ts";
import { whyWrapper } from "./shell-line.ts";

/** The rules of one profile, with the settings that belong to it. */
export interface RulesParty {
  readonly rules: RuleSet;
  readonly place?: Place;
  /** Default: commands in the sandbox, a question on a miss. */
  readonly exec?: ExecPolicy;
  /** Default: `rw`. */
  readonly access?: WorkspaceAccess;
  /** With untrusted text in context: `ask`; `rules`: ask, except about what a rule names; `off`: no change. Default: `ask`. */
  readonly untrusted?: "ask" | "rules" | "off";
}

/** `granted`: what the grants of the person say about it; `limits`: whether some of them ask about or deny certain commands. */
export interface OwnRules {
  readonly granted?: Rule;
  /** A grant that allows it with a text that fits. */
  readonly allowance?: (fits: (text: string) => boolean) => Rule | undefined;
  readonly limits: boolean;
  /** The owner reviews changes of prompt files. Other people cannot reach those of the owner, and theirs are their own. */
  readonly reviews: boolean;
}

export function decideByRules(given: Effect, party: RulesParty, own: OwnRules, untrusted: boolean): Decision {
  const effect = withoutWrappers(given);
  const refused = byAccess(effect, party.access ?? "rw");
  if (refused !== undefined) return { verdict: "deny", reason: refused };
  const found = party.rules.find(effect, party.place, untrusted);
  const rule = stricterRule(found, own.granted);
  const limited = own.limits || party.rules.limitsCommands;
  const reviewed = byReview(effect, rule, party, own);
  if (reviewed) return reviewed;
  if (isCommand(effect)) return byExec(effect, rule, limited, party.exec ?? DEFAULT_EXEC);
  if (rule) return ofRule(rule);
  return isMcp(effect)
    ? { verdict: "ask", reason: `no rule allows ${effect.action}` }
    : { verdict: "allow", reason: "" };
}

/** A list of words can hide a command as well as a line can: `["env", "git", "push"]`. */
function withoutWrappers(effect: Effect): Effect {
  const { detail } = effect;
  const why = detail?.kind === "command" ? whyWrapper(detail.argv) : undefined;
  if (detail?.kind !== "command" || why === undefined) return effect;
  return { ...effect, detail: { kind: "unparsed", line: detail.argv.join(" "), cwd: detail.cwd, why } };
}

/** A change of a file that decides what agents or programs do is reviewed by a person, unless a rule names the file. */
function byReview(
  effect: Effect,
  rule: Rule | undefined,
  { rules, place }: RulesParty,
  { allowance, reviews }: OwnRules,
): Decision | undefined {
  const { detail } = effect;
  if (detail?.kind !== "path" || detail.access !== "write") return undefined;
  const isGit = isGitFile(detail);
  if (!isGit && !(reviews && isPromptFile(detail.path, place?.workspace))) return undefined;
  if (rule && rule.verdict !== "allow") return ofRule(rule);
  const fits = (text: string): boolean => (isGit ? namesGitFile(text, detail) : namesFile(text, detail.path));
  const named = rules.findAllowance(effect, place, ({ text }) => fits(text)) ?? allowance?.(fits);
  if (named) return ofRule(named);
  const why = isGit ? "it can make git run programs" : "it changes what agents are told";
  return { verdict: "ask", reason: `${why}: a person reviews it` };
}

const stricterRule = (a: Rule | undefined, b: Rule | undefined): Rule | undefined =>
  a && b ? (strictest(a.verdict, b.verdict) === a.verdict ? a : b) : (a ?? b);

const isCommand = ({ detail }: Effect): boolean => detail?.kind === "command" || detail?.kind === "unparsed";
const isMcp = ({ action }: Effect): boolean => action.startsWith("mcp__");

function byAccess({ action, detail }: Effect, access: WorkspaceAccess): string | undefined {
  if (access === "rw") return undefined;
  const writes = WRITES.includes(action) || (detail?.kind === "path" && detail.access === "write");
  if (writes) return `the profile's workspaceAccess is ${access}`;
  const reads = READS.includes(action) || detail?.kind === "path";
  return access === "none" && reads ? "the profile's workspaceAccess is none" : undefined;
}

/** In words for the model and for people. */
const ruleText = ({ verdict, text, source }: Rule): string => `${verdict} ${text} (${source})`;

function ofRule(rule: Rule): Decision {
  if (rule.verdict === "allow") return { verdict: "allow", reason: "", rule };
  const because = rule.because === undefined ? "" : `: ${rule.because}`;
  return { verdict: rule.verdict, reason: `the rule ${ruleText(rule)} says so${because}`, rule };
}

function byExec(effect: Effect, rule: Rule | undefined, limited: boolean, policy: ExecPolicy): Decision {
  const own = byPolicy(effect, rule, limited, policy);
  if (!policy.bound) return own;
  const parents = byExec(effect, rule, limited, { ...policy.bound, refused: undefined });
  return strictest(own.verdict, parents.verdict) === own.verdict ? own : parents;
}

function byPolicy(effect: Effect, rule: Rule | undefined, limited: boolean, policy: ExecPolicy): Decision {
  const { host, security, ask, elevated, refused } = policy;
  if (refused !== undefined) return { verdict: "deny", reason: refused };
  if (security === "deny") return { verdict: "deny", reason: "execSecurity is deny" };
  if (rule?.verdict === "deny") return ofRule(rule);
  if (elevated === "full") return { verdict: "allow", reason: "", rule };
  const base = baseOf(effect, rule, limited, security === "full", host === "sandbox");
  if (base.verdict === "allow") {
    return ask === "always" ? { verdict: "ask", reason: "every command is asked about", rule } : base;
  }
  return ask === "off" ? { ...base, verdict: "deny", reason: `${base.reason}, and execAsk is off` } : base;
}

/** The verdict of the rule, or the default without one. */
function baseOf(
  { detail }: Effect,
  rule: Rule | undefined,
  limited: boolean,
  full: boolean,
  sandboxed: boolean,
): Decision {
  const allowed: Decision = { verdict: "allow", reason: "", rule };
  if (rule?.verdict === "ask") return ofRule(rule);
  if (detail?.kind === "unparsed") {
    // A rule about certain commands cannot be kept for a line that no one can read.
    return (rule || full) && !limited
      ? allowed
      : { verdict: "ask", reason: `the line cannot be judged: ${detail.why}` };
  }
  if (detail?.kind === "command" && detail.starts !== undefined && !full)
    return { verdict: "ask", reason: detail.starts };
  if (rule || full) return allowed;
  const argv = detail?.kind === "command" ? detail.argv : [];
  if (sandboxed && isSafeCommand(argv)) return allowed;
  return { verdict: "ask", reason: `no rule allows ${commandText(argv)}` };
}

const MAX_SHOWN = 120;
const commandText = (argv: readonly string[]): string => {
  const text = `exec(${argv.join(" ")})`;
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};
