/**
 * A yes for always to exactly one call, stored among a person's grants as `call(exec:3fa9…)`: the tool, and the beginning of the
 * digest of everything that a yes covers. It answers questions only: what is denied stays denied (M43).
 */
import type { Grant } from "../people/grant.ts";

/** A yes for always stores exactly this call, or the one pattern for it. */
export const ALWAYS_SCOPES = ["call", "pattern"] as const;
export type AlwaysScope = (typeof ALWAYS_SCOPES)[number];

/** The action of such a grant. A rule that is written by hand cannot have it. */
export const CALL = "call";

/** 128 bits: no one finds another call with the same ones. */
const DIGITS = 32;

export const standingYes = (tool: string, digest: string): string => `${CALL}(${tool}:${digest.slice(0, DIGITS)})`;

/** Whether a person has said yes for always to some call of this tool. Only then a digest is worth its price. */
export const hasStandingYes = (grants: readonly Grant[], tool: string): boolean =>
  grants.some((grant) => "allow" in grant && grant.allow.startsWith(`${CALL}(${tool}:`));

/** A rule as "always" would store it. */
export interface StoredAlways {
  readonly person: string;
  readonly allow: string;
  readonly when?: "untrusted";
}

/** For people: what a rule of "always" allows, whole. Every surface shows this text. */
export function alwaysText({ person, allow, when }: StoredAlways): string {
  const what = allow.startsWith(`${CALL}(`) ? "exactly this call" : allow;
  return `${what} for ${person}${when === undefined ? "" : ", also with untrusted text"}`;
}
