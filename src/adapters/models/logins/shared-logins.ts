/**
 * Logins of nodes that share a store. Each node has a copy of `logins.json`; a lease of the store lets one of them refresh at a
 * time, and a fact of the store hands the new tokens to the others. The fact is encrypted with a key that only the files have.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { ConflictError } from "../../../core/errors.ts";
import type { Ids } from "../../../core/ids.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import type { Leases } from "../../../core/ports/cluster.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Login } from "./login-file.ts";

export interface SharedLogins {
  /** Resolves with the function that ends the lease. Rejects if another node keeps it too long, or the store is away. */
  hold(id: string): Promise<() => Promise<void>>;
  /** The copy in the store, if it is newer than this one. */
  newer(login: Login): Promise<Login | undefined>;
  /** Hands a login to the other nodes. */
  put(login: Login): Promise<void>;
}

const RETRY_MS = 100;
const WAIT_MS = 40_000;

interface SharedLoginsDeps {
  readonly store: Pick<Store, "fact" | "commit">;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "change">;
}

export function sharedLogins({ store, leases, clock, ids }: SharedLoginsDeps): SharedLogins {
  return {
    async hold(id) {
      const from = clock.monotonic();
      const name = factOf(id);
      while (!(await leases.tryHold(name, () => undefined))) {
        if (clock.monotonic() - from > WAIT_MS) {
          throw new ConflictError("Another node has been refreshing this login for too long. Try again.");
        }
        await sleep(clock, RETRY_MS);
      }
      return () => leases.release(name);
    },
    async newer(login) {
      const text = await store.fact(factOf(login.id));
      const stored = text === undefined ? undefined : unsealed(login, text);
      return stored && stored.renewals > login.renewals ? stored : undefined;
    },
    async put(login) {
      const key = factOf(login.id);
      const before = await store.fact(key);
      if (before !== undefined && (unsealed(login, before)?.renewals ?? -1) >= login.renewals) return;
      const ops = [{ op: "fact.put", key, value: sealed(login), expect: before ?? null } as const];
      const { ok } = await store.commit({ id: ids.change(), site: "login.refresh", at: clock.now(), ops });
      if (!ok) throw new ConflictError("Another node has changed this login.");
    },
  };
}

const factOf = (id: string): string => `login:${id}`;
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

function sealed(login: Login): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, Buffer.from(login.seal, "base64"), iv);
  const text = Buffer.concat([cipher.update(JSON.stringify({ ...login, seal: "" }), "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64");
}

/** Undefined if it was not encrypted with this login's key. */
function unsealed({ seal }: Login, text: string): Login | undefined {
  try {
    const bytes = Buffer.from(text, "base64");
    const decipher = createDecipheriv(CIPHER, Buffer.from(seal, "base64"), bytes.subarray(0, IV_BYTES));
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    return { ...(JSON.parse(plain.toString("utf8")) as Login), seal };
  } catch {
    return undefined;
  }
}
