/**
 * Picks the keys of one provider. Each key is an auth profile. A key that hit a rate limit cools down; a refused key is
 * not used again until its value changes. Only digests of keys are remembered.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";

export interface KeySource {
  readonly profile: string;
  /** Where the key is stored, for messages. Never the key itself. */
  readonly where: string;
  /** Reads the key. Undefined if it is missing. */
  reveal(): string | undefined;
  /** Set if the key is the token of a login. */
  readonly login?: LoginAuth;
}

/** What a request with the token of a login needs besides the token. */
export interface LoginAuth {
  readonly headers?: Readonly<Record<string, string | null>>;
  /** The address of this account, if it has its own. */
  readonly baseUrl?: string;
}

export interface Key {
  readonly profile: string;
  readonly where: string;
  readonly value: string;
  readonly login?: LoginAuth;
}

export interface Usable {
  readonly keys: readonly Key[];
  /** Set if no key is usable: how long until the first one has cooled down. */
  readonly waitMs?: number;
  /** Where the missing and the refused keys are stored. */
  readonly missing: readonly string[];
  readonly refused: readonly string[];
}

const COOL_BASE_MS = 2_000;
const COOL_MAX_MS = 300_000;
const ANY_MODEL = "*";

interface KeyState {
  limitHits: number;
  coolUntil: number;
  refusedFor: Set<string>;
}

export class KeyRotation {
  readonly #clock: Clock;
  readonly #sources: () => readonly KeySource[];
  readonly #states = new Map<string, KeyState>();

  constructor(clock: Clock, sources: () => readonly KeySource[]) {
    this.#clock = clock;
    this.#sources = sources;
  }

  has(profile: string): boolean {
    return this.#sources().some((source) => source.profile === profile);
  }

  /** The keys to try for a model, the preferred profile first. `only`: no other profile. */
  usable(model: string, preferred?: { readonly name: string; readonly only: boolean }): Usable {
    const all = this.#sources();
    const first = all.filter((source) => source.profile === preferred?.name);
    const sources =
      first.length > 0 && preferred?.only ? first : [...first, ...all.filter((one) => !first.includes(one))];
    const keys: Key[] = [];
    const missing: string[] = [];
    const refused: string[] = [];
    let waitMs: number | undefined;
    for (const { profile, where, reveal, login } of sources) {
      const value = reveal();
      if (value === undefined || value === "") {
        missing.push(where);
        continue;
      }
      const state = this.#states.get(digest(value));
      const left = state ? state.coolUntil - this.#clock.monotonic() : 0;
      if (state?.refusedFor.has(ANY_MODEL) || state?.refusedFor.has(model)) refused.push(where);
      else if (left > 0) waitMs = Math.min(left, waitMs ?? Number.POSITIVE_INFINITY);
      else if (!keys.some((key) => key.value === value)) keys.push({ profile, where, value, login });
    }
    return { keys, missing, refused, waitMs: keys.length > 0 ? undefined : waitMs };
  }

  limited(key: Key, retryAfterMs?: number): void {
    const state = this.#state(key);
    state.limitHits += 1;
    const wait = retryAfterMs ?? Math.min(COOL_MAX_MS, COOL_BASE_MS * 2 ** (state.limitHits - 1));
    state.coolUntil = this.#clock.monotonic() + wait;
  }

  /** Refused for one model, or for all of them. */
  refused(key: Key, model: string = ANY_MODEL): void {
    this.#state(key).refusedFor.add(model);
  }

  /** Resets the rate limit. A refusal for another model stays. */
  worked(key: Key): void {
    const state = this.#states.size > 0 ? this.#states.get(digest(key.value)) : undefined;
    if (state) state.limitHits = 0;
  }

  #state({ value }: Key): KeyState {
    const id = digest(value);
    let state = this.#states.get(id);
    if (!state) {
      state = { limitHits: 0, coolUntil: 0, refusedFor: new Set() };
      this.#states.set(id, state);
    }
    return state;
  }
}

const digest = (value: string): string => createHash("sha256").update(value).digest("base64");
