/**
 * The keys of one provider, each an auth profile. A key that hit a limit cools down, a key that was refused is not used
 * again until its value is another one. Keys are remembered by their digest only.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";

export interface KeySource {
  readonly profile: string;
  /** Where the key is, for messages: never the key. */
  readonly where: string;
  /** Looks the key up now. Undefined where it is not there. */
  reveal(): string | undefined;
}

export interface Key {
  readonly profile: string;
  readonly where: string;
  readonly value: string;
}

export interface Usable {
  readonly keys: readonly Key[];
  /** Where no key is usable: how long until one has cooled down, if any will. */
  readonly waitMs?: number;
  /** Keys that were looked for and not found, and keys that were refused, by where they are. */
  readonly missing: readonly string[];
  readonly refused: readonly string[];
}

const COOL_BASE_MS = 2_000;
const COOL_MAX_MS = 300_000;
const ANY_MODEL = "*";

interface Mark {
  strikes: number;
  coolUntil: number;
  refusedFor: Set<string>;
}

export class KeyRing {
  readonly #clock: Clock;
  readonly #sources: () => readonly KeySource[];
  readonly #marks = new Map<string, Mark>();

  constructor(clock: Clock, sources: () => readonly KeySource[]) {
    this.#clock = clock;
    this.#sources = sources;
  }

  has(profile: string): boolean {
    return this.#sources().some((source) => source.profile === profile);
  }

  /** The keys to try for a model, the wanted profile first; `only` leaves the others out. */
  usable(model: string, wanted?: { readonly name: string; readonly only: boolean }): Usable {
    const all = this.#sources();
    const first = all.filter((source) => source.profile === wanted?.name);
    const sources = first.length > 0 && wanted?.only ? first : [...first, ...all.filter((one) => !first.includes(one))];
    const keys: Key[] = [];
    const missing: string[] = [];
    const refused: string[] = [];
    let waitMs: number | undefined;
    for (const { profile, where, reveal } of sources) {
      const value = reveal();
      if (value === undefined || value === "") {
        missing.push(where);
        continue;
      }
      const mark = this.#marks.get(digest(value));
      const left = mark ? mark.coolUntil - this.#clock.monotonic() : 0;
      if (mark?.refusedFor.has(ANY_MODEL) || mark?.refusedFor.has(model)) refused.push(where);
      else if (left > 0) waitMs = Math.min(left, waitMs ?? Number.POSITIVE_INFINITY);
      else if (!keys.some((key) => key.value === value)) keys.push({ profile, where, value });
    }
    return { keys, missing, refused, ...(keys.length > 0 || waitMs === undefined ? {} : { waitMs }) };
  }

  limited(key: Key, retryAfterMs?: number): void {
    const mark = this.#mark(key);
    mark.strikes += 1;
    const wait = retryAfterMs ?? Math.min(COOL_MAX_MS, COOL_BASE_MS * 2 ** (mark.strikes - 1));
    mark.coolUntil = this.#clock.monotonic() + wait;
  }

  /** Refused for everything, or for one model only. */
  refused(key: Key, model: string = ANY_MODEL): void {
    this.#mark(key).refusedFor.add(model);
  }

  /** Its limits are forgotten; that it may not use some other model is not. */
  worked(key: Key): void {
    const mark = this.#marks.size > 0 ? this.#marks.get(digest(key.value)) : undefined;
    if (mark) mark.strikes = 0;
  }

  #mark({ value }: Key): Mark {
    const id = digest(value);
    let mark = this.#marks.get(id);
    if (!mark) {
      mark = { strikes: 0, coolUntil: 0, refusedFor: new Set() };
      this.#marks.set(id, mark);
    }
    return mark;
  }
}

const digest = (value: string): string => createHash("sha256").update(value).digest("base64");
