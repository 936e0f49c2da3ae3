/**
 * After a no, the same effect is not asked about again, however the call is worded, and after several noes nothing is asked: a model
 * that obeys an attacker cannot tire its person into a yes. That holds for the whole task: the run that a person's words began, and
 * the runs of children and other agents that it led to, in both directions, until the person writes again.
 */
import { isDeepStrictEqual } from "node:util";
import type { JudgedCall } from "../../core/ports/gate.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import { coversEffect } from "../../core/rights/match-rule.ts";
import { parseRule } from "../../core/rights/rule.ts";
import { denialOf } from "../../core/rights/rule-of-effect.ts";

/** How often people say no before a task asks nothing any more. */
const MAX_DENIALS = 3;

type Asked = Pick<Effect, "action" | "target" | "detail">;

/** Why this call is not asked about, as its result; undefined if it may be. `denials`: the questions of its task with a no. */
export function deniedBefore({ call, effects }: JudgedCall, denials: readonly Approval[]): string | undefined {
  const same = denials.find(
    ({ tool, arguments: given, effects: denied = [] }) =>
      (tool === call.name && isDeepStrictEqual(given, call.arguments)) ||
      denied.some((one) => effects.some((effect) => isSame(one, effect))),
  );
  if (same) {
    return `Not executed: ${same.decidedBy} denied approval ${same.id}, and is not asked about the same again in this task.`;
  }
  if (denials.length < MAX_DENIALS) return undefined;
  return `Not executed: people have said no ${denials.length} times in this task, so it asks nothing more. Go on without it.`;
}

/** A denied effect is read widely, as a rule that denies: options in between, another case, a full path are the same. */
function isSame(denied: Asked, effect: Asked): boolean {
  if (denied.detail?.kind === "unparsed") {
    return effect.detail?.kind === "unparsed" && plainLine(effect.detail.line) === plainLine(denied.detail.line);
  }
  // Of an effect that names nothing only the same call is the same.
  if (denied.detail === undefined && denied.target === undefined) return false;
  if (isDeepStrictEqual([denied.target, denied.detail], [effect.target, effect.detail])) return true;
  const text = denialOf(denied);
  const rule = text === undefined ? undefined : parseRule(text);
  return rule !== undefined && "subject" in rule && coversEffect(rule.subject, "deny", effect);
}

const plainLine = (line: string): string => line.replace(/\s+/gu, " ").trim();
