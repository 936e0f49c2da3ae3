/**
 * Stores the records of minted tokens: in a file of the home, or in the store that several nodes share. A change is
 * atomic, also when two processes write at once; unreadable records are never replaced.
 */
import { statSync } from "node:fs";
import { ConfigError, ConflictError } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { changeTokenFile, parseTokens, readTokenFile, type TokenRecord, tokensText } from "./token-file.ts";

type TokenChange = (tokens: readonly TokenRecord[]) => readonly TokenRecord[];

export interface TokenStorage {
  /** All records, or undefined if nothing changed since they were last read or written here. */
  readIfChanged(): Promise<readonly TokenRecord[] | undefined>;
  /** The same without waiting. A storage behind a network has none. */
  readIfChangedSync?(): readonly TokenRecord[] | undefined;
  /** Durable when it resolves. Returns all records after the change. */
  change(change: TokenChange): Promise<readonly TokenRecord[]>;
}

export function fileTokenStorage(file: string): TokenStorage {
  let seen: string | undefined;
  const stamp = (): string => {
    const stat = statSync(file, { throwIfNoEntry: false });
    return stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : "";
  };
  const readIfChangedSync = (): readonly TokenRecord[] | undefined => {
    const now = stamp();
    if (now === seen) return undefined;
    const tokens = readTokenFile(file);
    // Only after the read: a file that could not be read must be read again, or a revoked token stays valid.
    seen = now;
    return tokens;
  };
  return {
    readIfChangedSync,
    readIfChanged: async () => readIfChangedSync(),
    async change(change) {
      const tokens = changeTokenFile(file, change);
      seen = stamp();
      return tokens;
    },
  };
}

const FACT = "api.tokens";
const MAX_TRIES = 20;

/** The records of the home and of its store, for a report. Throws if they are unreadable. */
export async function readTokens(
  file: string,
  store: { fact(key: string): Promise<string | undefined> } | undefined,
): Promise<readonly TokenRecord[]> {
  const shared = await store?.fact(FACT);
  return [...readTokenFile(file), ...(shared === undefined ? [] : parseTokens(shared))];
}

export function sharedTokenStorage({ store, ids, clock }: Pick<Ports, "store" | "ids" | "clock">): TokenStorage {
  let seen: string | null | undefined;
  const parse = (text: string | null): readonly TokenRecord[] => {
    try {
      return text === null ? [] : parseTokens(text);
    } catch (cause) {
      throw new ConfigError("The tokens in the shared store cannot be read.", {
        cause,
        hint: `Repair the fact ${FACT}, or remove it and mint new tokens; tokens that are not in it are not valid.`,
      });
    }
  };
  return {
    async readIfChanged() {
      const text = (await store.fact(FACT)) ?? null;
      if (text === seen) return undefined;
      const tokens = parse(text);
      seen = text;
      return tokens;
    },
    async change(change) {
      for (let tries = 1; tries <= MAX_TRIES; tries++) {
        const before = (await store.fact(FACT)) ?? null;
        const tokens = change(parse(before));
        const value = tokensText(tokens);
        const ops = [{ op: "fact.put", key: FACT, value, expect: before } as const];
        const done = await submit({ store, ids, clock }, "tokens", ops);
        if (!done.ok) continue;
        seen = value;
        return tokens;
      }
      throw new ConflictError("Other processes keep changing the tokens.", { hint: "Try again." });
    },
  };
}
