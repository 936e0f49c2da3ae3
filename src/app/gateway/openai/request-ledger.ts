/**
 * Recognises requests that are repeated without an `Idempotency-Key` (M18): the same token, person and body joins the
 * earlier run if it is marked as a retry or if the earlier response was never finished, on whichever node that was. Kept as
 * facts in the store, in a bounded number of them; a fact is written with the message it is about, how its response ended a
 * moment later.
 */

import { createHash } from "node:crypto";
import { errorText } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../../engine/commit/submit.ts";

interface Request {
  readonly hash: string;
  readonly key: string;
  readonly at: number;
  readonly finished: boolean;
  /** The node that answers it, where there may be several. */
  readonly node?: number;
  /** Its caller is gone, or was sent away. */
  readonly brokenOff?: boolean;
}

type Ended = "finished" | "brokenOff";

/** One request that is being answered. */
export interface Registered {
  /** Makes the message the same one however often it is posted. */
  readonly key: string;
  /** To be committed with the message. Where that is refused with a conflict, somebody else came first: register again. */
  readonly also: readonly Op[];
  /** Says how the response ended: all of it handed over, or broken off. */
  ended(finished: boolean): void;
}

/** Requests are remembered in this many facts per token, and in each so many of the latest. */
const SHELVES = 1024;
const PER_SHELF = 16;
const KEPT_MS = 24 * 3600_000;
/** How long what is finished may wait to be written down with others. */
const WRITE_AFTER_MS = 250;
const MAX_ACCOUNTS_IN_MEMORY = 4_096;
const MAX_TRIES = 20;

export class RequestLedger {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  /** This node's number, where others write the same facts. */
  readonly #node: (() => number) | undefined;
  readonly #shelves = new Map<string, Promise<Request[]>>();
  /** Keys of requests that are being answered by this process now. */
  readonly #answering = new Map<string, number>();
  /** How responses ended that is not written down yet, by shelf and key. */
  readonly #notes = new Map<string, Map<string, Ended>>();
  readonly #unwritten = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;

  constructor(ports: Pick<Ports, "store" | "ids" | "clock" | "log">, node?: () => number) {
    this.#ports = ports;
    this.#node = node;
  }

  async register(request: {
    token: string;
    user: string | undefined;
    body: Buffer;
    isRetry: boolean;
  }): Promise<Registered> {
    const hash = createHash("sha256")
      .update(JSON.stringify([request.token, request.user ?? null]))
      .update(request.body)
      .digest("hex");
    const storage = `api.requests:${request.token}:${(Number.parseInt(hash.slice(0, 8), 16) % SHELVES).toString(36)}`;
    const { requests, text } = await this.#read(storage);
    const now = this.#ports.clock.now();
    const notes = this.#notes.get(storage);
    const same = requests
      .filter((one) => one.hash === hash && now - one.at < KEPT_MS)
      .map((one) => noted(one, notes?.get(one.key)));
    const living = this.#node ? await this.#livingOf(same) : undefined;
    const brokenOff = same.findLast((one) => !one.finished && !this.#isAnswered(one, living));
    const joined = brokenOff ?? (request.isRetry ? same.at(-1) : undefined);
    if (joined) return this.#registered(storage, joined.key, []);
    const key = `api:${this.#ports.ids.uuid()}`;
    const node = this.#node?.();
    requests.push({ hash, key, at: now, finished: false, ...(node === undefined ? {} : { node }) });
    if (requests.length > PER_SHELF) requests.splice(0, requests.length - PER_SHELF);
    const put = { op: "fact.put", key: storage, value: JSON.stringify(requests) } as const;
    return this.#registered(storage, key, [text === undefined ? put : { ...put, expect: text }]);
  }

  /** Whether somebody hands the answer over now, here or on another node that lives. */
  #isAnswered({ key, node, brokenOff }: Request, living: ReadonlySet<number> | undefined): boolean {
    if (this.#answering.has(key)) return true;
    return living !== undefined && !brokenOff && node !== undefined && node !== this.#node?.() && living.has(node);
  }

  async #livingOf(requests: readonly Request[]): Promise<ReadonlySet<number>> {
    if (!requests.some(({ finished, brokenOff }) => !finished && !brokenOff)) return new Set();
    const now = this.#ports.clock.now();
    const nodes = await this.#ports.store.nodes();
    return new Set(nodes.filter(({ left, leaseUntil }) => !left && leaseUntil > now).map(({ node }) => node));
  }

  #registered(storage: string, key: string, also: readonly Op[]): Registered {
    this.#answering.set(key, (this.#answering.get(key) ?? 0) + 1);
    let open = true;
    return {
      key,
      also,
      ended: (finished) => {
        if (!open) return;
        open = false;
        const left = (this.#answering.get(key) ?? 1) - 1;
        if (left > 0) this.#answering.set(key, left);
        else this.#answering.delete(key);
        if (finished) this.#note(storage, key, "finished");
        // Alone, whoever asks again finds that nobody answers; another node has to read it.
        else if (this.#node && left <= 0) this.#note(storage, key, "brokenOff");
      },
    };
  }

  #note(storage: string, key: string, ended: Ended): void {
    const notes = this.#notes.get(storage) ?? new Map<string, Ended>();
    this.#notes.set(storage, notes);
    this.#unwritten.add(storage);
    if (notes.get(key) !== "finished") notes.set(key, ended);
    if (ended === "brokenOff") void this.flush();
    else this.#cancel ??= this.#ports.clock.after(WRITE_AFTER_MS, () => void this.flush());
  }

  /** Writes down how responses ended. Must not throw: what is lost here makes one more join, no lost message. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const shelves = [...this.#unwritten];
    this.#unwritten.clear();
    if (shelves.length === 0) return this.#writing;
    const write = async (): Promise<void> => {
      const told = shelves.map((storage) => [storage, new Map(this.#notes.get(storage))] as const);
      try {
        if (this.#node) await Promise.all(told.map((one) => this.#write([one])));
        else await this.#write(told);
      } catch (error) {
        this.#ports.log.warn("how responses ended could not be written down", { error: errorText(error) });
      }
      for (const [storage, notes] of told) this.#drop(storage, notes);
      this.#forget();
    };
    this.#writing = Promise.all([this.#writing, write()]).then(() => undefined);
    return this.#writing;
  }

  /** What is written need not be kept, unless it was noted anew meanwhile. */
  #drop(storage: string, written: ReadonlyMap<string, Ended>): void {
    const notes = this.#notes.get(storage);
    for (const [key, ended] of written) if (notes?.get(key) === ended) notes.delete(key);
    if (notes?.size === 0) this.#notes.delete(storage);
  }

  async #write(told: readonly (readonly [string, ReadonlyMap<string, Ended>])[]): Promise<void> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const ops: Op[] = [];
      for (const [storage, notes] of told) {
        const { requests, text } = await this.#read(storage);
        if (!mark(requests, notes)) continue;
        const put = { op: "fact.put", key: storage, value: JSON.stringify(requests) } as const;
        ops.push(text === undefined ? put : { ...put, expect: text });
      }
      if (ops.length === 0) return;
      if ((await submit(this.#ports, "api.finished", ops)).ok) return;
    }
  }

  /** `text`: as it lies in the store, where others may write it too; alone, what is in memory is what lies there. */
  async #read(storage: string): Promise<{ requests: Request[]; text?: string | null }> {
    if (this.#node) {
      const text = await this.#ports.store.fact(storage);
      return { requests: parse(text), text: text ?? null };
    }
    let known = this.#shelves.get(storage);
    if (!known) {
      known = this.#ports.store.fact(storage).then(parse);
      this.#shelves.set(storage, known);
      // One that could not be read is asked for again.
      known.catch(() => this.#shelves.delete(storage));
    }
    return { requests: await known };
  }

  #forget(): void {
    for (const storage of this.#shelves.keys()) {
      if (this.#shelves.size <= MAX_ACCOUNTS_IN_MEMORY) return;
      if (!this.#notes.has(storage)) this.#shelves.delete(storage);
    }
  }
}

const noted = (request: Request, ended: Ended | undefined): Request => {
  if (ended === undefined || request.finished) return request;
  return ended === "finished" ? { ...request, finished: true } : { ...request, brokenOff: true };
};

/** Marks how requests ended. False where nothing is new. */
function mark(requests: Request[], notes: ReadonlyMap<string, Ended>): boolean {
  let any = false;
  for (const [at, known] of requests.entries()) {
    const now = noted(known, notes.get(known.key));
    any ||= now.finished !== known.finished || now.brokenOff !== known.brokenOff;
    requests[at] = now;
  }
  return any;
}

function parse(text: string | undefined): Request[] {
  if (text === undefined) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as Request[]).filter((one) => typeof one?.key === "string") : [];
  } catch {
    return [];
  }
}
