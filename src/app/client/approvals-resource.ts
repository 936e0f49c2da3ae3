/** The tool calls that wait for a person, as a list and as answers. */
import type { List } from "../../core/list.ts";
import type { Approval } from "../../core/rights/approval.ts";
import type { AlwaysScope } from "../../core/rights/standing-yes.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

/** A rule that a yes for always would store. */
interface AlwaysRule {
  readonly person: string;
  readonly allow: string;
  /** It also counts while text of others is in context. */
  readonly when?: "untrusted";
}

/** The rule for exactly this call, and for its pattern; or why there is none. */
export type AlwaysOffers = Readonly<Record<AlwaysScope, readonly AlwaysRule[] | { readonly not: string }>>;

export interface Approvals {
  /** The open ones, newest first, or those in a state (`all` for every one). Send `next` as `before` for the next page. Changes nothing. */
  list(filter?: {
    readonly state?: string;
    readonly agent?: string;
    readonly before?: number;
    readonly limit?: number;
  }): Promise<List<Approval, number>>;
  /** One question: the exact call. While it is open, `always` has the rules that `yes` can store. Changes nothing. */
  get(approval: string): Promise<Approval & { readonly always?: AlwaysOffers }>;
  /**
   * Lets the call happen once. `digest` is the one of the question that the person was shown; the yes counts for that very call.
   * `always`: also from now on, by a rule for its person. Durable when it resolves; rejects if another answer was first.
   */
  yes(approval: string, shown: { readonly digest: string; readonly always?: AlwaysScope }): Promise<Approval>;
  /** Refuses the call; the agent reads the reason. Durable when it resolves. */
  no(approval: string, more?: { readonly reason?: string; readonly digest?: string }): Promise<Approval>;
}

export const approvalsOf = (api: EngineApi): Approvals => ({
  list: (filter) => api.get("/api/approvals", { ...filter }),
  get: (approval) => api.get(pathOf("api", "approvals", approval)),
  yes: (approval, shown) => api.post(pathOf("api", "approvals", approval), { answer: "yes", ...shown }),
  no: (approval, more) => api.post(pathOf("api", "approvals", approval), { answer: "no", ...more }),
});
