/** API tokens that minted each other, and the people who write with them. Each person writes with one token. */
import type { Limit } from "../../../src/core/budget/budget.ts";

export interface SimToken {
  readonly id: string;
  /** The token that minted it. */
  readonly mintedBy?: string;
  readonly limit: Limit;
  /** Who writes with it. */
  readonly users: readonly string[];
}

export type TokenTree = readonly SimToken[];

/** The token of a person, and every token above it. Empty for someone who writes without one. */
export function tokensAbove(tree: TokenTree, user: string): readonly SimToken[] {
  const above: SimToken[] = [];
  let at = tree.find(({ users }) => users.includes(user));
  while (at) {
    above.push(at);
    const { mintedBy } = at;
    at = tree.find(({ id }) => id === mintedBy);
  }
  return above;
}
