/** Who a request comes from: the token it bore, and what was granted to it. Travels with everything the request causes. */
import type { Scope } from "./scope.ts";

/** How much may be asked and spent; what is not said is not limited. */
export interface Allowance {
  readonly requestsPerMinute?: number;
  readonly tokensPerDay?: number;
  readonly dollarsPerDay?: number;
}

export interface Principal {
  /** `root` for the home's own token, else the id of a minted one. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly limits?: Allowance;
  /** A token for one person: it speaks as this `user` and as no other. */
  readonly person?: string;
}

export const ROOT = "root";
