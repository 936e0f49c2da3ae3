/**
 * The accounts that the owner has linked from a chat, besides those of the configuration. A change moves the revision of rights, so
 * that every node reads them again.
 */
import { ConflictError } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { type Op, RIGHTS_REVISION } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import { type Actor, auditOp } from "./audit-entry.ts";

const FACT = "owner.accounts";
const MAX_ACCOUNTS = 32;
const TRIES = 5;

type OwnerPorts = Pick<Ports, "store" | "ids" | "clock">;

export async function ownerAccounts({ store }: Pick<Ports, "store">): Promise<readonly string[]> {
  const text = await store.fact(FACT);
  const read: unknown = text === undefined ? [] : JSON.parse(text);
  return Array.isArray(read) ? read.filter((one) => typeof one === "string") : [];
}

/** Durable when it resolves. `also` is committed with it. */
export const addOwnerAccount = (ports: OwnerPorts, by: Actor, account: string, also?: readonly Op[]): Promise<void> =>
  change(ports, by, { action: "person.link", account, also }, (before) =>
    [...before.filter((one) => one !== account), account].slice(-MAX_ACCOUNTS),
  );

async function change(
  ports: OwnerPorts,
  by: Actor,
  { action, account, also = [] }: { readonly action: string; readonly account: string; readonly also?: readonly Op[] },
  next: (before: readonly string[]) => readonly string[],
): Promise<void> {
  const { store, clock } = ports;
  for (let tries = 1; tries <= TRIES; tries++) {
    const revision = await store.rightsRevision();
    const stored = await store.fact(RIGHTS_REVISION);
    const before = await store.fact(FACT);
    const value = JSON.stringify(next(await ownerAccounts(ports)));
    const ops: Op[] = [
      { op: "fact.put", key: FACT, value, expect: before ?? null },
      { op: "fact.put", key: RIGHTS_REVISION, value: String(revision + 1), expect: stored ?? null },
      auditOp(by, clock.now(), { action, target: "owner", args: { account } }),
      ...also,
    ];
    if ((await submit(ports, "person.put", ops)).ok) return;
  }
  throw new ConflictError("The owner's accounts were changed at the same moment.", { hint: "Try again." });
}
