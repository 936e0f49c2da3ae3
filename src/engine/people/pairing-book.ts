/**
 * The open requests of people and groups who are not known here, the codes that link accounts, and who is blocked. One small durable
 * value, changed by comparison, so that of several nodes one wins. Bounded: strangers cannot make it grow.
 */
import { z } from "zod";
import { ConflictError, CorruptDataError } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";

const FACT = "pairing";
const MAX_REQUESTS = 200;
const MAX_BLOCKED = 2_000;
const MAX_LINKS = 50;
const DAY_MS = 24 * 3600_000;
const LINK_MS = 15 * 60_000;

const requestSchema = z.object({
  code: z.string(),
  /** `telegram:42`, or `telegram:group:-100`. */
  account: z.string(),
  channel: z.string(),
  name: z.string().optional(),
  at: z.number().int(),
  /** When the person was last told the code. */
  toldAt: z.number().int(),
});
export type PairingRequest = z.infer<typeof requestSchema>;

/** A code that a person carries from a chat where they are known to one where they are not. */
const linkSchema = z.object({ code: z.string(), person: z.string(), until: z.number().int() });

const bookSchema = z.object({
  requests: z.array(requestSchema).default([]),
  links: z.array(linkSchema).default([]),
  blocked: z.array(z.string()).default([]),
});
export type PairingPages = z.infer<typeof bookSchema>;

type BookPorts = Pick<Ports, "store" | "ids" | "clock">;
const TRIES = 8;
/** How old a read may be that only asks whether someone is blocked. */
const RECENT_MS = 5_000;

export class PairingBook {
  readonly #ports: BookPorts;
  #last: Promise<unknown> = Promise.resolve();
  #recent: { readonly pages: PairingPages; readonly at: number } | undefined;

  constructor(ports: BookPorts) {
    this.#ports = ports;
  }

  /** Possibly some seconds old. */
  async recent(): Promise<PairingPages> {
    const { clock } = this.#ports;
    if (this.#recent && clock.monotonic() - this.#recent.at < RECENT_MS) return this.#recent.pages;
    return (await this.#read()).pages;
  }

  async now(): Promise<PairingPages> {
    return (await this.#read()).pages;
  }

  /** Durable when it resolves. `change` may be called several times. `also`: committed with it. One after the other. */
  change(change: (pages: PairingPages, now: number) => PairingPages, also: readonly Op[] = []): Promise<PairingPages> {
    const done = this.#last.then(() => this.#change(change, also));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /**
   * The same in a commit of the caller's, so that a kill leaves both or none: `commit` gets the op that writes the pages, and rejects with
   * a `ConflictError` if the store refuses.
   */
  changeWith<T>(
    change: (pages: PairingPages, now: number) => PairingPages,
    commit: (op: Op) => Promise<T>,
  ): Promise<T> {
    const done = this.#last.then(() => this.#changeWith(change, commit));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #changeWith<T>(
    change: (pages: PairingPages, now: number) => PairingPages,
    commit: (op: Op) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const { pages, text } = await this.#read();
      const now = this.#ports.clock.now();
      const next = bounded(change(pages, now), now);
      try {
        const done = await commit({ op: "fact.put", key: FACT, value: JSON.stringify(next), expect: text ?? null });
        this.#remember(next);
        return done;
      } catch (error) {
        const isStale = error instanceof ConflictError && (await this.#read()).text !== text;
        if (!isStale || tries >= TRIES) throw error;
      }
    }
  }

  async #change(
    change: (pages: PairingPages, now: number) => PairingPages,
    also: readonly Op[],
  ): Promise<PairingPages> {
    for (let tries = 1; tries <= TRIES; tries++) {
      const { pages, text } = await this.#read();
      const now = this.#ports.clock.now();
      const next = bounded(change(pages, now), now);
      const value = JSON.stringify(next);
      const put: Op = { op: "fact.put", key: FACT, value, expect: text ?? null };
      const done = await submit(this.#ports, "pairing", [put, ...also]);
      if (done.ok) {
        this.#remember(next);
        return next;
      }
    }
    throw new ConflictError("Too many people write at this moment.", { hint: "Try again." });
  }

  async #read(): Promise<{ pages: PairingPages; text: string | undefined }> {
    const text = await this.#ports.store.fact(FACT);
    const read = bookSchema.safeParse(text === undefined ? {} : JSON.parse(text));
    if (!read.success) throw new CorruptDataError("The list of pairing requests cannot be read.");
    const pages = bounded(read.data, this.#ports.clock.now());
    this.#remember(pages);
    return { pages, text };
  }

  #remember(pages: PairingPages): void {
    this.#recent = { pages, at: this.#ports.clock.monotonic() };
  }
}

/** Without what has ended by time, and within the limits: the oldest give way. */
const bounded = ({ requests, links, blocked }: PairingPages, now: number): PairingPages => ({
  requests: requests.filter(({ at }) => now - at < 7 * DAY_MS).slice(-MAX_REQUESTS),
  links: links.filter(({ until }) => until > now).slice(-MAX_LINKS),
  blocked: blocked.slice(-MAX_BLOCKED),
});

export const linkUntil = (now: number): number => now + LINK_MS;
