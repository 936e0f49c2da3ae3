/** The tool calls that wait for a person, as a list and as answers. */
import type { List } from "../../core/list.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { RuleWidth } from "../../core/rights/rule-widths.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

/** A rule that a yes for always would store. */
interface AlwaysRule {
  readonly person: string;
  readonly allow: string;
  /** It also counts while text of others is in context. */
  readonly when?: "untrusted";
}

/** By width: this call, its beginning, its tool; or why there is no rule. */
export type AlwaysWidths = Readonly<Record<RuleWidth, readonly AlwaysRule[] | { readonly not: string }>>;

export interface Approvals {
  /** The open ones, newest first, or those in a state (`all` for every one). Send `next` as `before` for the next page. Changes nothing. */
  list(filter?: {
    readonly state?: string;
    readonly agent?: string;
    readonly before?: number;
    readonly limit?: number;
  }): Promise<List<Approval, number>>;
  /** One question: the exact call. While it is open, `always` has the rules that `yes` would store, by width. Changes nothing. */
  get(approval: string): Promise<Approval & { readonly always?: AlwaysWidths }>;
  /**
   * Lets the call happen once; `always`: also from now on, by a rule for its person in this width (`true`: this call). With the `digest` that the person was shown it
   * counts for that very call only. Durable when it resolves; rejects if another answer was first.
   */
  yes(approval: string, more?: { readonly always?: boolean | RuleWidth; readonly digest?: string }): Promise<Approval>;
  /** Refuses the call; the agent reads the reason. Durable when it resolves. */
  no(approval: string, more?: { readonly reason?: string; readonly digest?: string }): Promise<Approval>;
}

export const approvalsOf = (api: EngineApi): Approvals => ({
  list: (filter) => api.get("/api/approvals", { ...filter }),
  get: (approval) => api.get(pathOf("api", "approvals", approval)),
  yes: (approval, more) => api.post(pathOf("api", "approvals", approval), { answer: "yes", ...more }),
  no: (approval, more) => api.post(pathOf("api", "approvals", approval), { answer: "no", ...more }),
});
