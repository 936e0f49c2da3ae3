/**
 * What a skill leaves a run of its tools. From the moment that its instructions are read until the run ends, calls must be covered by its
 * `allowed-tools`. Several skills narrow together. It never allows anything: rights, rules and people decide as before (L13).
 */
import { z } from "zod";
import { matchesEnding } from "../people/grant.ts";
import type { Effect } from "./decide.ts";
import { coversEffect, type Place } from "./match-rule.ts";
import { parseRule, READS, WRITES } from "./rule.ts";

export const skillLimitSchema = z.object({ skill: z.string(), tools: z.array(z.string()) }).readonly();
export type SkillLimit = z.infer<typeof skillLimitSchema>;

/** The tools that read skills and find other tools change nothing. */
const ALWAYS: readonly string[] = ["skill", "find_tools"];

/** Why the skills of a run do not allow an effect; undefined if they do. */
export function denialBySkills(effect: Effect, limits: readonly SkillLimit[] = [], place?: Place): string | undefined {
  const { tool = effect.action } = effect;
  if (ALWAYS.includes(tool)) return undefined;
  const limit = limits.find(({ tools }) => !tools.some((entry) => covers(entry, effect, tool, place)));
  return limit && `the skill ${limit.skill} is used with these tools only: ${limit.tools.join(", ") || "none"}`;
}

function covers(entry: string, effect: Effect, tool: string, place: Place | undefined): boolean {
  const parsed = parseRule(entry);
  if ("wrong" in parsed) return false;
  const { subject } = parsed;
  if (!namesTool(entry, subject.actions, tool)) return false;
  // Without a pattern the whole tool is meant; what exactly a call does is another effect of it.
  if (subject.target === undefined || effect.detail === undefined) return true;
  return coversEffect(subject, "allow", { ...effect, target: undefined }, place);
}

/** `read` is one tool here, not all that read: a list of tools says what it means. `Read(…)` of other programs means all of them. */
function namesTool(entry: string, actions: readonly string[], tool: string): boolean {
  const name = entry.split("(", 1)[0] ?? "";
  const isGroup = actions === READS || actions === WRITES;
  return isGroup && name === name.toLowerCase() ? name === tool : actions.some((one) => matchesEnding(one, tool));
}

/** The limits of a run after it has read more skills, each once. */
export function withLimits(
  before: readonly SkillLimit[] | undefined,
  more: readonly SkillLimit[],
): readonly SkillLimit[] | undefined {
  const fresh = more.filter(({ skill }) => !before?.some((one) => one.skill === skill));
  return fresh.length === 0 ? before : [...(before ?? []), ...fresh];
}
