/** The session of WhatsApp Web on SQLite, and a `set` that is killed at every moment. */
import { describe, expect, it } from "vitest";
import { type CommitOutcome, faultyStore, memoryStore } from "../../../app/testing/store.ts";
import { roundOf, roundsIn, sessionIn } from "./session-rounds.test-kit.ts";
import { checkSession } from "./stored-auth.test-kit.ts";

describe("the session in the store", () => {
  it("is one commit for each set, keeps bytes, and is removed as a whole", () => checkSession(memoryStore()));

  it("has no other types of keys", async () => {
    await expect(sessionIn(memoryStore()).set({ surprise: { a: "b" } })).rejects.toThrow('no type of keys "surprise"');
  });

  it.each([
    ["die-before", 1],
    ["die-after", 2],
    ["full", 1],
    ["unknown-lost", 1],
    ["unknown-applied", 2],
  ] as const)("of a set that ends with %s has the keys of round %i", async (outcome: CommitOutcome, expected) => {
    const store = memoryStore();
    await sessionIn(store).set(roundOf(1));
    const auth = sessionIn(faultyStore(store, () => outcome));
    const set = auth.set(roundOf(2)).catch(() => "rejected");
    const isDead = outcome.startsWith("die");
    if (!isDead) expect(await set).toBe(outcome === "unknown-applied" ? undefined : "rejected");
    await expect.poll(() => roundsIn(sessionIn(store)), { timeout: 30_000 }).toEqual([expected]);
    // What the process itself believes is what is stored.
    if (!isDead) expect(await roundsIn(auth)).toEqual([expected]);
  });
});
