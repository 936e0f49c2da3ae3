/** Rules of the gate: what agents may do without asking, what asks, what never happens. Only the owner uses them. */
import type { AuditRow } from "../../core/people/audit.ts";
import type { Verdict } from "../../core/people/grant.ts";
import type { Effect } from "../../core/rights/decide.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

export interface ListedRule {
  readonly verdict: Verdict;
  readonly text: string;
  /** `permissions`, `profiles.NAME`, `agent:ID`, or a person. */
  readonly source: string;
  readonly because?: string;
  /** The call that a yes for always covers, for people. */
  readonly shows?: string;
  readonly when?: "untrusted";
  /** It can be removed; a rule of the configuration is changed in its file. */
  readonly stored: boolean;
}

/** Whose rules: those of a person (default: the owner), or of one agent. */
interface RulesOf {
  readonly person?: string;
  readonly agent?: string;
}

export interface TriedCall {
  readonly decision: TriedDecision;
  readonly effects: readonly { readonly effect: Effect; readonly decision: TriedDecision }[];
}

export interface TriedDecision {
  readonly verdict: Verdict;
  readonly reason: string;
  /** The person whose rights decided. */
  readonly person?: string;
  /** The scope that the token lacks. */
  readonly scope?: string;
  readonly rule?: Omit<ListedRule, "stored">;
}

export interface Permissions {
  list(of?: RulesOf): Promise<{ readonly items: readonly ListedRule[]; readonly next: null }>;
  /** Durable when it resolves, and in force for every effect that starts afterwards; for an agent, after what waits in its inbox. */
  add(
    verdict: Verdict,
    rule: string,
    more?: RulesOf & { readonly because?: string; readonly when?: "untrusted" },
  ): Promise<Omit<ListedRule, "stored">>;
  /** Removes a stored rule by its text. Durable when it resolves. */
  remove(rule: string, of?: RulesOf): Promise<void>;
  /** What the gate would decide about a call such as `exec(git push)`. Nothing happens. */
  test(
    call: string,
    more?: RulesOf & { readonly headless?: boolean; readonly untrusted?: boolean },
  ): Promise<TriedCall>;
  /** Why calls of a run, or one call, were denied. Rejects if none was. */
  explain(runOrCall: string): Promise<{ readonly items: readonly AuditRow[]; readonly next: null }>;
}

export const permissionsOf = (api: EngineApi): Permissions => ({
  list: (of) => api.get("/api/permissions", { ...of }),
  add: (verdict, rule, more) => api.post("/api/permissions", { verdict, rule, ...more }),
  remove: async (rule, of) => void (await api.delete("/api/permissions", { rule, ...of })),
  test: (call, more) => api.post("/api/permissions/test", { call, ...more }),
  explain: (runOrCall) => api.get(pathOf("api", "permissions", "explain", runOrCall)),
});
