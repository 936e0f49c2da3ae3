/**
 * Recognises a repeated request without an `Idempotency-Key` (M18). A request with the same token, user and body joins the
 * earlier run if it is marked as a retry, or if the earlier response was never finished, on any node. Requests are stored
 * as facts, in a bounded number per token. A fact is written with the message it belongs to; how the response ended follows
 * a moment later.
 */
import { createHash } from "node:crypto";
import { errorText } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../../engine/commit/submit.ts";

/** One request, as it is stored. */
interface Request {
  readonly hash: string;
  readonly key: string;
  readonly at: number;
  readonly finished: boolean;
  /** The node that answers it, if there are several. */
  readonly node?: number;
  /** The connection was lost, or the node stopped, before the whole response was sent. */
  readonly brokenOff?: boolean;
}

type Ending = "finished" | "brokenOff";
type Endings = ReadonlyMap<string, Ending>;

/** A request that is being answered. */
export interface RegisteredRequest {
  /** The deduplication key of the message. */
  readonly key: string;
  /** Commit these with the message. On a conflict another node was first: register again. */
  readonly ops: readonly Op[];
  /** Call once when the response has ended: `finished` if all of it was sent. */
  ended(finished: boolean): void;
}

const FACTS_PER_TOKEN = 1024;
const REQUESTS_PER_FACT = 16;
const KEPT_MS = 24 * 3600_000;
/** Endings are written together after this time. */
const WRITE_AFTER_MS = 250;
const MAX_FACTS_IN_MEMORY = 4_096;
const MAX_TRIES = 20;

export class RequestLedger {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  /** The number of this node, if other nodes write the same facts. */
  readonly #node: (() => number) | undefined;
  readonly #cache = new Map<string, Promise<Request[]>>();
  /** Keys of requests that this process answers now, with the number of responses. */
  readonly #answering = new Map<string, number>();
  /** Endings that are not written yet, by fact and key. */
  readonly #endings = new Map<string, Map<string, Ending>>();
  readonly #unwritten = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #cancelWrite: (() => void) | undefined;

  constructor(ports: Pick<Ports, "store" | "ids" | "clock" | "log">, node?: () => number) {
    this.#ports = ports;
    this.#node = node;
  }

  async register(request: {
    token: string;
    user: string | undefined;
    body: Buffer;
    isRetry: boolean;
  }): Promise<RegisteredRequest> {
    const hash = createHash("sha256")
      .update(JSON.stringify([request.token, request.user ?? null]))
      .update(request.body)
      .digest("hex");
    const fact = factOf(request.token, hash);
    const { requests, text } = await this.#read(fact);
    const now = this.#ports.clock.now();
    const endings = this.#endings.get(fact);
    const same = requests
      .filter((one) => one.hash === hash && now - one.at < KEPT_MS)
      .map((one) => withEnding(one, endings?.get(one.key)));
    const liveNodes = this.#node ? await this.#liveNodes(same) : undefined;
    const brokenOff = same.findLast((one) => !one.finished && !this.#isBeingAnswered(one, liveNodes));
    const joined = brokenOff ?? (request.isRetry ? same.at(-1) : undefined);
    if (joined) return this.#registered(fact, joined.key, []);
    const key = `api:${this.#ports.ids.uuid()}`;
    requests.push({ hash, key, at: now, finished: false, node: this.#node?.() });
    if (requests.length > REQUESTS_PER_FACT) requests.splice(0, requests.length - REQUESTS_PER_FACT);
    return this.#registered(fact, key, [putOp(fact, requests, text)]);
  }

  /** Whether a response is being sent now, by this process or by another live node. */
  #isBeingAnswered({ key, node, brokenOff }: Request, liveNodes: ReadonlySet<number> | undefined): boolean {
    if (this.#answering.has(key)) return true;
    return (
      liveNodes !== undefined && !brokenOff && node !== undefined && node !== this.#node?.() && liveNodes.has(node)
    );
  }

  async #liveNodes(requests: readonly Request[]): Promise<ReadonlySet<number>> {
    if (!requests.some(({ finished, brokenOff }) => !finished && !brokenOff)) return new Set();
    const now = this.#ports.clock.now();
    const nodes = await this.#ports.store.nodes();
    return new Set(nodes.filter(({ left, leaseUntil }) => !left && leaseUntil > now).map(({ node }) => node));
  }

  #registered(fact: string, key: string, ops: readonly Op[]): RegisteredRequest {
    this.#answering.set(key, (this.#answering.get(key) ?? 0) + 1);
    let isOpen = true;
    return {
      key,
      ops,
      ended: (finished) => {
        if (!isOpen) return;
        isOpen = false;
        const left = (this.#answering.get(key) ?? 1) - 1;
        if (left > 0) this.#answering.set(key, left);
        else this.#answering.delete(key);
        if (finished) this.#note(fact, key, "finished");
        // A single node sees in #answering that no response is being sent; another node has to read it.
        else if (this.#node && left <= 0) this.#note(fact, key, "brokenOff");
      },
    };
  }

  #note(fact: string, key: string, ending: Ending): void {
    const endings = this.#endings.get(fact) ?? new Map<string, Ending>();
    this.#endings.set(fact, endings);
    this.#unwritten.add(fact);
    if (endings.get(key) !== "finished") endings.set(key, ending);
    if (ending === "brokenOff") void this.flush();
    else this.#cancelWrite ??= this.#ports.clock.after(WRITE_AFTER_MS, () => void this.flush());
  }

  /** Writes the endings. Must not reject: a lost ending makes an identical request join once more; no message is lost. */
  flush(): Promise<void> {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    const facts = [...this.#unwritten];
    this.#unwritten.clear();
    if (facts.length === 0) return this.#writing;
    const write = async (): Promise<void> => {
      const endings = facts.map((fact) => [fact, new Map(this.#endings.get(fact))] as const);
      try {
        if (this.#node) await Promise.all(endings.map((one) => this.#write([one])));
        else await this.#write(endings);
      } catch (error) {
        this.#ports.log.warn("the endings of responses were not written", { error: errorText(error) });
      }
      for (const [fact, written] of endings) this.#dropWritten(fact, written);
      this.#trimCache();
    };
    this.#writing = Promise.all([this.#writing, write()]).then(() => undefined);
    return this.#writing;
  }

  /** Drops written endings, except those that changed during the write. */
  #dropWritten(fact: string, written: Endings): void {
    const endings = this.#endings.get(fact);
    for (const [key, ending] of written) if (endings?.get(key) === ending) endings.delete(key);
    if (endings?.size === 0) this.#endings.delete(fact);
  }

  async #write(endings: readonly (readonly [string, Endings])[]): Promise<void> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const ops: Op[] = [];
      for (const [fact, ofFact] of endings) {
        const { requests, text } = await this.#read(fact);
        if (applyEndings(requests, ofFact)) ops.push(putOp(fact, requests, text));
      }
      if (ops.length === 0) return;
      if ((await submit(this.#ports, "api.finished", ops)).ok) return;
    }
  }

  /** `text` is the stored value if other nodes may write it too. A single node trusts its cache. */
  async #read(fact: string): Promise<{ requests: Request[]; text?: string | null }> {
    if (this.#node) {
      const text = await this.#ports.store.fact(fact);
      return { requests: parseRequests(text), text: text ?? null };
    }
    let cached = this.#cache.get(fact);
    if (!cached) {
      cached = this.#ports.store.fact(fact).then(parseRequests);
      this.#cache.set(fact, cached);
      // After a failed read the next request reads again.
      cached.catch(() => this.#cache.delete(fact));
    }
    return { requests: await cached };
  }

  #trimCache(): void {
    for (const fact of this.#cache.keys()) {
      if (this.#cache.size <= MAX_FACTS_IN_MEMORY) return;
      if (!this.#endings.has(fact)) this.#cache.delete(fact);
    }
  }
}

const factOf = (token: string, hash: string): string =>
  `api.requests:${token}:${(Number.parseInt(hash.slice(0, 8), 16) % FACTS_PER_TOKEN).toString(36)}`;

function putOp(fact: string, requests: readonly Request[], text: string | null | undefined): Op {
  const put = { op: "fact.put", key: fact, value: JSON.stringify(requests) } as const;
  return text === undefined ? put : { ...put, expect: text };
}

const withEnding = (request: Request, ending: Ending | undefined): Request => {
  if (ending === undefined || request.finished) return request;
  return ending === "finished" ? { ...request, finished: true } : { ...request, brokenOff: true };
};

/** Returns false if nothing changed. */
function applyEndings(requests: Request[], endings: Endings): boolean {
  let changed = false;
  for (const [at, before] of requests.entries()) {
    const after = withEnding(before, endings.get(before.key));
    changed ||= after.finished !== before.finished || after.brokenOff !== before.brokenOff;
    requests[at] = after;
  }
  return changed;
}

/** An unreadable fact counts as empty: the ledger then recognises fewer repeated requests. */
function parseRequests(text: string | undefined): Request[] {
  if (text === undefined) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as Request[]).filter((one) => typeof one?.key === "string") : [];
  } catch {
    return [];
  }
}
