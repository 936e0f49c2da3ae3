/**
 * The session of WhatsApp Web in the store: who we are, and the keys of every chat. One `set` is one commit, so a crash never leaves keys
 * that do not belong together. Keys are kept in a fixed number of facts by their hash, so that all of them can be removed.
 */
import { createHash } from "node:crypto";
import type { Ids } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { submit } from "../../../engine/commit/submit.ts";

export interface StoredAuth {
  creds(): Promise<unknown>;
  saveCreds(creds: unknown): Promise<void>;
  get(type: string, ids: readonly string[]): Promise<Record<string, unknown>>;
  /** Durable when it resolves, all of it or nothing. `null` removes a key. */
  set(data: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>): Promise<void>;
  /** Forgets the session. */
  clear(): Promise<void>;
}

export interface AuthPorts {
  readonly store: Store;
  readonly ids: Ids;
  readonly clock: Clock;
}

const TYPES = [
  ...["pre-key", "session", "sender-key", "sender-key-memory", "app-state-sync-key", "app-state-sync-version"],
  ...["lid-mapping", "device-list", "tctoken", "identity-key"],
] as const;
/** The facts of one type. */
const BUCKETS = 16;

type Bucket = Record<string, unknown>;

export const authPrefix = (account: string): string => `whatsapp-web.auth.${account}`;

const bucketOf = (id: string): number => (createHash("sha256").update(id).digest()[0] ?? 0) % BUCKETS;

export function storedAuth(ports: AuthPorts, account: string): StoredAuth {
  const prefix = authPrefix(account);
  const keyOf = (type: string, bucket: number): string => `${prefix}.${type}.${bucket}`;
  const buckets = new Map<string, Bucket>();
  let last: Promise<void> = Promise.resolve();

  const read = async (key: string): Promise<Bucket> => {
    const known = buckets.get(key);
    if (known) return known;
    const text = await ports.store.fact(key);
    const found = text === undefined ? {} : (unpacked(text) as Bucket);
    buckets.set(key, found);
    return found;
  };
  const put = async (ops: readonly Op[]): Promise<void> => {
    const result = await submit(ports, "whatsapp-web.auth", ops);
    if (!result.ok) throw new TypeError(`the session could not be stored: ${result.detail}`);
  };
  /** One change after the other. After a failed one nothing in memory is trusted. */
  const changing = (change: () => Promise<void>): Promise<void> => {
    const now = last.then(change);
    last = now.catch(() => buckets.clear());
    return now;
  };

  return {
    async creds() {
      const text = await ports.store.fact(`${prefix}.creds`);
      return text === undefined ? undefined : unpacked(text);
    },
    saveCreds: (creds) => changing(() => put([{ op: "fact.put", key: `${prefix}.creds`, value: packed(creds) }])),
    async get(type, ids) {
      await last;
      const found: Record<string, unknown> = {};
      for (const id of ids) {
        const value = (await read(keyOf(type, bucketOf(id))))[id];
        if (value !== undefined) found[id] = value;
      }
      return found;
    },
    set: (data) =>
      changing(async () => {
        const changed = new Map<string, Bucket>();
        for (const [type, values] of Object.entries(data)) {
          if (!TYPES.includes(type as never)) throw new TypeError(`there is no type of keys "${type}"`);
          for (const [id, value] of Object.entries(values ?? {})) {
            const key = keyOf(type, bucketOf(id));
            const bucket = changed.get(key) ?? { ...(await read(key)) };
            if (value === null || value === undefined) delete bucket[id];
            else bucket[id] = value;
            changed.set(key, bucket);
          }
        }
        if (changed.size === 0) return;
        await put(
          [...changed].map(([key, bucket]): Op => {
            const value = Object.keys(bucket).length === 0 ? null : packed(bucket);
            return { op: "fact.put", key, value };
          }),
        );
        for (const [key, bucket] of changed) buckets.set(key, bucket);
      }),
    clear: () =>
      changing(async () => {
        const keys = TYPES.flatMap((type) => Array.from({ length: BUCKETS }, (_, n) => keyOf(type, n)));
        await put([`${prefix}.creds`, ...keys].map((key) => ({ op: "fact.put", key, value: null })));
        buckets.clear();
      }),
  };
}

const BYTES = "$bytes";

/** JSON in which bytes are base64. */
const packed = (value: unknown): string =>
  JSON.stringify(value, function (this: Record<string, unknown>, key, shown: unknown) {
    // A Buffer has turned itself into something else before it gets here.
    const raw = this[key];
    return raw instanceof Uint8Array ? { [BYTES]: Buffer.from(raw).toString("base64") } : shown;
  });

const unpacked = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown) => {
    const bytes = (value as { [BYTES]?: unknown } | null)?.[BYTES];
    return typeof bytes === "string" ? Buffer.from(bytes, "base64") : value;
  }) as unknown;
