/**
 * Where the records of minted tokens lie: in a file of the home, or in the store that several nodes share. A change is one
 * step, whoever else changes them at the same moment; what cannot be read is never replaced.
 */

import { statSync } from "node:fs";
import { ConfigError, ConflictError } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { changeTokenFile, parseTokens, readTokenFile, type TokenRecord, tokensText } from "./token-file.ts";

export type TokenChange = (tokens: readonly TokenRecord[]) => readonly TokenRecord[];

export interface TokenStorage {
  /** All of them, or undefined where they are as they were when they were last read or changed here. */
  look(): Promise<readonly TokenRecord[] | undefined>;
  /** As `look`, where that can be done at once. */
  lookNow?(): readonly TokenRecord[] | undefined;
  /** Durable when it resolves. Gives what is there now. */
  change(change: TokenChange): Promise<readonly TokenRecord[]>;
}

export function fileTokenStorage(file: string): TokenStorage {
  let seen: string | undefined;
  const stamp = (): string => {
    const stat = statSync(file, { throwIfNoEntry: false });
    return stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : "";
  };
  const lookNow = (): readonly TokenRecord[] | undefined => {
    const now = stamp();
    if (now === seen) return undefined;
    seen = now;
    return readTokenFile(file);
  };
  return {
    lookNow,
    look: async () => lookNow(),
    async change(change) {
      const tokens = changeTokenFile(file, change);
      seen = stamp();
      return tokens;
    },
  };
}

const FACT = "api.tokens";
const TRIES = 20;

export function sharedTokenStorage({ store, ids, clock }: Pick<Ports, "store" | "ids" | "clock">): TokenStorage {
  let seen: string | null | undefined;
  const parse = (text: string | null): readonly TokenRecord[] => {
    try {
      return text === null ? [] : parseTokens(text);
    } catch (cause) {
      throw new ConfigError("The tokens in the shared store cannot be read.", {
        cause,
        hint: `Correct the fact ${FACT}, or remove it and mint anew; tokens that are not in it open nothing.`,
      });
    }
  };
  return {
    async look() {
      const text = (await store.fact(FACT)) ?? null;
      if (text === seen) return undefined;
      seen = text;
      return parse(text);
    },
    async change(change) {
      for (let tries = 1; tries <= TRIES; tries++) {
        const before = (await store.fact(FACT)) ?? null;
        const tokens = change(parse(before));
        const value = tokensText(tokens);
        const ops = [{ op: "fact.put", key: FACT, value, expect: before } as const];
        const done = await submit({ store, ids, clock }, "tokens", ops);
        if (!done.ok) continue;
        seen = value;
        return tokens;
      }
      throw new ConflictError("The tokens are being changed by others all the while.", { hint: "Try again." });
    },
  };
}
