/**
 * Measures what it costs to act: a decision of the gate for commands, files and hosts, with no rules, 50 and 500, and with calls that
 * are allowed for always; then a command in the sandbox against a bare one.
 */

import { createHash } from "node:crypto";
import { OWNER } from "../src/core/people/person.ts";
import { effectsOfCall } from "../src/core/rights/call-text.ts";
import { decide, type Effect, type Situation } from "../src/core/rights/decide.ts";
import type { Rule } from "../src/core/rights/rule.ts";
import { ruleSet } from "../src/core/rights/rule-set.ts";
import { hasStandingYes, standingYes } from "../src/core/rights/standing-yes.ts";
import { digestOf } from "../src/engine/approvals/call-digest.ts";
import type { Bench, Figure, Goal } from "./report.ts";
import { measureSandbox } from "./sandbox.ts";
import { median } from "./statistics.ts";

const ROUNDS = 7;
const CALLS = 20_000;
const PLACE = { workspace: "/home/you/work", home: "/home/you" };

/** A third each for commands, files and hosts; many of the same program, which an index by program does not tell apart. */
const rulesOf = (count: number): readonly Rule[] =>
  Array.from({ length: count }, (_, n): Rule => {
    const verdict = (["allow", "ask", "deny"] as const)[n % 3] ?? "ask";
    const texts = [`exec(git sub${n} *)`, `write(src/part${n}/**/*.ts)`, `web(domain:host${n}.example.org)`];
    return { verdict, text: texts[Math.floor(n / 3) % 3] ?? "exec", source: "permissions" };
  });

const CALLED = ["exec(git push origin main)", "write(src/a/b/c.ts)", "web(https://docs.example.com/x)", "exec(ls -la)"];
const effects: readonly Effect[] = CALLED.flatMap((call) => {
  const called = effectsOfCall(call, PLACE);
  return "effects" in called ? called.effects : [];
});

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const digests = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => sha256(`call ${n}`));

/** A call that is not allowed otherwise is compared with the calls that a person has allowed for always, as the gate does. */
function microsecondsPerCall({ rules, always = 0 }: { readonly rules: number; readonly always?: number }): number {
  const grants = digests(always).map((digest) => ({ allow: standingYes("exec", digest) }));
  const people = [{ person: OWNER, role: "owner", grants } as const];
  const situation: Situation = { people, kind: "user", rules: [{ rules: ruleSet(rulesOf(rules)), place: PLACE }] };
  const before = process.cpuUsage();
  for (let n = 0; n < CALLS; n++) {
    const effect = effects[n % effects.length] as Effect;
    if (decide(effect, situation).verdict === "allow" || !hasStandingYes(grants, "exec")) continue;
    const call = {
      callId: "c",
      name: "exec",
      arguments: { command: effect.target },
      replay: "never",
      state: "asked",
    } as const;
    const digest = digestOf(call, { directory: PLACE.workspace, environment: ["HOME", "PATH"], files: {} });
    decide(effect, { ...situation, yes: standingYes("exec", digest) });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const CASES = [
  { what: "0 rules", rules: 0 },
  { what: "50 rules", rules: 50 },
  { what: "500 rules", rules: 500 },
  { what: "500 rules and 20 calls allowed for always", rules: 500, always: 20 },
] as const;

export const toolsBench: Bench = {
  about: "the gate with no rules, with 50 and with 500, and a command in the sandbox against a bare one",
  async run(say) {
    const measured = CASES.map((one) => ({ ...one, rounds: [] as number[] }));
    for (let round = 1; round <= ROUNDS; round++) {
      for (const one of measured) one.rounds.push(microsecondsPerCall(one));
      say(
        `round ${round}: ${measured.map(({ what, rounds }) => `${rounds.at(-1)?.toFixed(1)} µs with ${what}`).join(", ")}`,
      );
    }
    const gate: Figure[] = measured.map(({ what, rounds }) => ({
      ...{ what: `a decision with ${what}`, value: median(rounds), unit: "µs" },
    }));
    const goals500 = gate
      .filter(({ what }) => what.includes("500"))
      .map(({ what, value }): Goal => ({ what, goal: 50, better: "less", measured: value, unit: "µs" }));
    const { figures, goals } = await measureSandbox(say);
    return { figures: [...gate, ...figures], goals: [...goals500, ...goals] };
  },
};
