/**
 * Measures what it costs to act: a decision of the gate with no rules, with 50 and with 500, for commands, files and hosts, and then
 * a command in the sandbox against a bare one.
 */
import { OWNER } from "../src/core/people/person.ts";
import { effectsOfCall } from "../src/core/rights/call-text.ts";
import { decide, type Effect, type Situation } from "../src/core/rights/decide.ts";
import type { Rule } from "../src/core/rights/rule.ts";
import { ruleSet } from "../src/core/rights/rule-set.ts";
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

function microsecondsPerCall(rules: readonly Rule[]): number {
  const people = [{ person: OWNER, role: "owner", grants: [] } as const];
  const situation: Situation = { people, kind: "user", rules: [{ rules: ruleSet(rules), place: PLACE }] };
  const before = process.cpuUsage();
  for (let n = 0; n < CALLS; n++) decide(effects[n % effects.length] as Effect, situation);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

export const toolsBench: Bench = {
  about: "the gate with no rules, with 50 and with 500, and a command in the sandbox against a bare one",
  async run(say) {
    const counts = [0, 50, 500];
    const measured = new Map<number, number[]>(counts.map((count) => [count, []]));
    for (let round = 1; round <= ROUNDS; round++) {
      for (const count of counts) measured.get(count)?.push(microsecondsPerCall(rulesOf(count)));
      say(
        `round ${round}: ${counts.map((count) => `${measured.get(count)?.at(-1)?.toFixed(1)} µs with ${count}`).join(", ")}`,
      );
    }
    const of = (count: number): number => median(measured.get(count) ?? []);
    const gate: Figure[] = counts.map((count) => ({
      ...{ what: `a decision with ${count} rules`, value: of(count), unit: "µs" },
    }));
    const goal: Goal = { what: "a decision with 500 rules", goal: 50, better: "less", measured: of(500), unit: "µs" };
    const { figures, goals } = await measureSandbox(say);
    return { figures: [...gate, ...figures], goals: [goal, ...goals] };
  },
};
