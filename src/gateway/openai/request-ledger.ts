/**
 * Recognises requests that are repeated without an `Idempotency-Key` (M18): the same token, person and body joins the
 * earlier run if it is marked as a retry or if the earlier response was never finished. Kept as facts in the store, in a
 * bounded number of them; a fact is written with the message it is about, that a response was finished a moment later.
 */
import { createHash } from "node:crypto";
import type { Op } from "../../core/change.ts";
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports.ts";

interface Request {
  readonly hash: string;
  readonly key: string;
  readonly at: number;
  readonly finished: boolean;
}

/** One request that is being answered. */
export interface Registered {
  /** Makes the message the same one however often it is posted. */
  readonly key: string;
  /** To be committed with the message. */
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
const MOST_SHELVES_IN_MEMORY = 4_096;

export class RequestLedger {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  readonly #shelves = new Map<string, Promise<Request[]>>();
  /** Keys of requests that are being answered by this process now. */
  readonly #answering = new Map<string, number>();
  readonly #unwritten = new Set<string>();
  readonly #marking = new Set<Promise<void>>();
  #cancel: (() => void) | undefined;

  constructor(ports: Pick<Ports, "store" | "ids" | "clock" | "log">) {
    this.#ports = ports;
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
    const shelf = `api.requests:${request.token}:${(Number.parseInt(hash.slice(0, 8), 16) % SHELVES).toString(36)}`;
    const requests = await this.#read(shelf);
    const now = this.#ports.clock.now();
    const same = requests.filter((one) => one.hash === hash && now - one.at < KEPT_MS);
    const brokenOff = same.findLast(({ key, finished }) => !finished && !this.#answering.has(key));
    const joined = brokenOff ?? (request.isRetry ? same.at(-1) : undefined);
    if (joined) return this.#registered(shelf, joined.key, []);
    const key = `api:${this.#ports.ids.uuid()}`;
    requests.push({ hash, key, at: now, finished: false });
    if (requests.length > PER_SHELF) requests.splice(0, requests.length - PER_SHELF);
    return this.#registered(shelf, key, [{ op: "fact.put", key: shelf, value: JSON.stringify(requests) }]);
  }

  #registered(shelf: string, key: string, also: readonly Op[]): Registered {
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
        if (!finished) return;
        const marking = this.#finished(shelf, key).finally(() => this.#marking.delete(marking));
        this.#marking.add(marking);
      },
    };
  }

  async #finished(shelf: string, key: string): Promise<void> {
    const requests = await this.#read(shelf);
    const at = requests.findIndex((one) => one.key === key);
    const known = requests[at];
    if (!known || known.finished) return;
    requests[at] = { ...known, finished: true };
    this.#unwritten.add(shelf);
    this.#cancel ??= this.#ports.clock.after(WRITE_AFTER_MS, () => void this.flush());
  }

  /** Writes down what is finished. Must not throw: what is lost here makes one more join, no lost message. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    await Promise.allSettled(this.#marking);
    const shelves = [...this.#unwritten];
    this.#unwritten.clear();
    if (shelves.length === 0) return;
    const { store, ids, clock, log } = this.#ports;
    try {
      const ops = await Promise.all(
        shelves.map(
          async (key): Promise<Op> => ({ op: "fact.put", key, value: JSON.stringify(await this.#read(key)) }),
        ),
      );
      await store.commit({ id: ids.change(), site: "api.finished", at: clock.now(), ops });
    } catch (error) {
      log.warn("that responses were finished could not be written down", { error: errorText(error) });
    }
    this.#forget();
  }

  #read(shelf: string): Promise<Request[]> {
    let known = this.#shelves.get(shelf);
    if (!known) {
      known = this.#ports.store.fact(shelf).then(parse);
      this.#shelves.set(shelf, known);
      // One that could not be read is asked for again.
      known.catch(() => this.#shelves.delete(shelf));
    }
    return known;
  }

  #forget(): void {
    for (const shelf of this.#shelves.keys()) {
      if (this.#shelves.size <= MOST_SHELVES_IN_MEMORY) return;
      if (!this.#unwritten.has(shelf)) this.#shelves.delete(shelf);
    }
  }
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
