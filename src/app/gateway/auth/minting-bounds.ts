/**
 * How many tokens a token mints, and how deep. Without bounds a caller could fill the file that every process reads, and make the
 * way from a token to its ancestors, whose limits count for it, as long as it likes.
 */
import { DeniedError } from "../../../core/errors.ts";
import { ROOT } from "./principal.ts";
import type { TokenRecord } from "./token-file.ts";

/** Valid tokens below one token, at every depth together. The owner's own token has no bound. */
const MAX_MINTED = 50;
/** Tokens between the home's own and the last one. */
const MAX_DEPTH = 4;

type Minted = Pick<TokenRecord, "id" | "createdBy" | "expiresAt">;

/** The tokens from this one up to the one that the home's own token minted, itself first. */
export function lineageOf<T extends Minted>(id: string, find: (id: string) => T | undefined): readonly T[] {
  const lineage: T[] = [];
  // A file that someone edited could contain a circle.
  for (let at = find(id); at && !lineage.includes(at); at = find(at.createdBy)) lineage.push(at);
  return lineage;
}

/** Throws if the token `by` may not mint another one. */
export function assertMayMint(by: string, tokens: readonly Minted[], now: number): void {
  if (by === ROOT) return;
  const byId = new Map(tokens.map((token) => [token.id, token]));
  const find = (id: string): Minted | undefined => byId.get(id);
  const lineage = lineageOf(by, find);
  if (lineage.length >= MAX_DEPTH) {
    throw new DeniedError(`Tokens that mint tokens are at most ${MAX_DEPTH} deep.`, {
      hint: "Mint it with a token further up, or as the owner: `rookery people tokens add NAME`.",
    });
  }
  const current = tokens.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  const full = lineage.find(({ id }) => minted(id, current, find) >= MAX_MINTED);
  if (!full) return;
  throw new DeniedError(`The token ${full.id} has minted ${MAX_MINTED} tokens that are still valid, the most it may.`, {
    hint: "Revoke one of them, or mint as the owner: `rookery people tokens add NAME`.",
  });
}

const minted = (id: string, tokens: readonly Minted[], find: (id: string) => Minted | undefined): number =>
  tokens.filter((token) => token.id !== id && lineageOf(token.id, find).some((one) => one.id === id)).length;
