/**
 * What needs a question while text that the run's person did not write is in context: it may be that text that asks for it (M32).
 * Commands, schedules, lasting agents, notes and skills, and what sends data out: to others, and to hosts that a model chose. Answers to the run's own
 * person, reading and writing other own files, safe commands in a sandbox and starting children are not among it: what they make carries the mark.
 * A rule or a grant with `when: "untrusted"` allows it beforehand, and a profile can relax it.
 */
import type { Effect } from "./decide.ts";
import type { Place } from "./match-rule.ts";
import { keptByAgents } from "./prompt-files.ts";
import type { Fits } from "./rule-set.ts";
import type { RulesParty } from "./rules-party.ts";
import { isSafeCommand } from "./safe-commands.ts";

/** Who works for the owner, and with which prompt. */
const CHANGES_AGENTS = /^(?:create|remove)_(?:permanent_agent|swarm)$/u;

export const needsQuestion = ({ action, rights, target, detail }: Effect, place?: Place): boolean =>
  rights.includes("exec") ||
  rights.includes("schedule") ||
  detail?.kind === "command" ||
  detail?.kind === "unparsed" ||
  action.startsWith("mcp__") ||
  CHANGES_AGENTS.test(action) ||
  // Later sessions read it.
  (detail?.kind === "path" && detail.access === "write" && keptByAgents(detail.path, place?.workspace) !== undefined) ||
  // A search goes to the service that the owner chose.
  (detail?.kind === "host" && action !== "web_search") ||
  (target !== undefined && (rights.includes("send") || rights.includes("network")));

/** Whether a party of rules lets it happen without a question all the same. */
export function allowsUntrusted(effect: Effect, { rules, place, exec, untrusted = "ask" }: RulesParty): boolean {
  if (untrusted === "off") return true;
  const { detail } = effect;
  if (detail?.kind === "command" && (exec?.host ?? "sandbox") === "sandbox" && isSafeCommand(detail.argv)) return true;
  const fits: Fits = ({ when }, subject) =>
    when === "untrusted" || (untrusted === "rules" && subject.target !== undefined);
  return rules.findAllowance(effect, place, fits) !== undefined;
}

export const UNTRUSTED_REASON = "text from someone else or from the network is in its context";
