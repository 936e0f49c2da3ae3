/**
 * The session of WhatsApp Web in the store: who we are, and the keys of every chat. One `set` is one commit, so a crash never leaves keys
 * that do not belong together. Keys are kept in a fixed number of facts by their hash, so that all of them can be removed.
 */
import { createHash } from "node:crypto";
import type { Ids } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { CommitResult, Op } from "../../../core/store/change.ts";
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

/** How often a `set` is tried whose facts someone else changes. */
const MAX_TRIES = 5;
const bucketIn = (text: string | undefined): Bucket => (text === undefined ? {} : (unpacked(text) as Bucket));
const bucketOf = (id: string): number => (createHash("sha256").update(id).digest()[0] ?? 0) % BUCKETS;

export function storedAuth(ports: AuthPorts, account: string): StoredAuth {
  const prefix = authPrefix(account);
  const keyOf = (type: string, bucket: number): string => `${prefix}.${type}.${bucket}`;
  let last: Promise<void> = Promise.resolve();

  /** Read each time: a person who is forgotten must not come back with what a process remembers. The package caches what it reads. */
  const read = async (key: string): Promise<Bucket> => bucketIn(await ports.store.fact(key));
  const put = async (ops: readonly Op[]): Promise<CommitResult> => submit(ports, "whatsapp-web.auth", ops);
  const stored = (result: CommitResult): void => {
    if (!result.ok) throw new TypeError(`the session could not be stored: ${result.detail}`);
  };
  /** One change after the other. */
  const changing = (change: () => Promise<void>): Promise<void> => {
    const now = last.then(change);
    last = now.catch(() => undefined);
    return now;
  };
  const setOnce = async (data: Parameters<StoredAuth["set"]>[0]): Promise<CommitResult | undefined> => {
    const changed = new Map<string, { readonly before: string | undefined; readonly bucket: Bucket }>();
    for (const [type, values] of Object.entries(data)) {
      if (!TYPES.includes(type as never)) throw new TypeError(`there is no type of keys "${type}"`);
      for (const [id, value] of Object.entries(values ?? {})) {
        const key = keyOf(type, bucketOf(id));
        const known = changed.get(key);
        const before = known ? known.before : await ports.store.fact(key);
        const bucket = known?.bucket ?? bucketIn(before);
        if (value === null || value === undefined) delete bucket[id];
        else bucket[id] = value;
        changed.set(key, { before, bucket });
      }
    }
    if (changed.size === 0) return undefined;
    return put(
      [...changed].map(([key, { before, bucket }]): Op => {
        const value = Object.keys(bucket).length === 0 ? null : packed(bucket);
        return { op: "fact.put", key, value, expect: before ?? null };
      }),
    );
  };

  return {
    async creds() {
      const text = await ports.store.fact(`${prefix}.creds`);
      return text === undefined ? undefined : unpacked(text);
    },
    saveCreds: (creds) =>
      changing(async () => stored(await put([{ op: "fact.put", key: `${prefix}.creds`, value: packed(creds) }]))),
    async get(type, ids) {
      await last;
      const buckets = new Map<number, Bucket>();
      const found: Record<string, unknown> = {};
      for (const id of ids) {
        const n = bucketOf(id);
        const bucket = buckets.get(n) ?? (await read(keyOf(type, n)));
        buckets.set(n, bucket);
        if (bucket[id] !== undefined) found[id] = bucket[id];
      }
      return found;
    },
    set: (data) =>
      changing(async () => {
        for (let tries = 1; ; tries++) {
          const result = await setOnce(data);
          // Someone else has changed a fact in between: it is read again.
          if (!result || result.ok || tries >= MAX_TRIES) return result && stored(result);
        }
      }),
    clear: () =>
      changing(async () => {
        const keys = TYPES.flatMap((type) => Array.from({ length: BUCKETS }, (_, n) => keyOf(type, n)));
        stored(await put([`${prefix}.creds`, ...keys].map((key) => ({ op: "fact.put", key, value: null }))));
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
