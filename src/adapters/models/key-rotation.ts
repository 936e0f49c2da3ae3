/**
 * Picks the keys of one provider. Each key is an auth profile. A key that hit a rate limit cools down. A refused key rests
 * with growing pauses and is then tried again (M47). Only digests of keys are remembered, and only by this process.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../core/ports/clock.ts";
import type { RefusedKey } from "../../core/refused-key.ts";
import { modelName } from "./provider-model.ts";
import { refusalPauseMs } from "./refusal-pause.ts";

export const DEFAULT_AUTH_PROFILE = "default";

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
interface LoginAuth {
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
  /** Where the missing keys are stored. */
  readonly missing: readonly string[];
  /** Where keys are stored that are subscription tokens of other programs. They are never sent. */
  readonly foreign: readonly string[];
  /** The keys that rest after a refusal. */
  readonly refused: readonly RefusedKey[];
}

/** How a provider refused a key. */
interface Refusal {
  /** The id of the model that was called. */
  readonly model: string;
  readonly status?: number;
  /** The key may work for other models. */
  readonly onlyModel?: boolean;
}

const COOL_BASE_MS = 2_000;
const COOL_MAX_MS = 300_000;
const ANY_MODEL = "*";
/** A token of a program that bills by subscription: the library would have to pretend to be that program. */
const SUBSCRIPTION_TOKEN = /sk-ant-oat/;

interface Rest extends Refusal {
  /** Refusals in a row. */
  readonly count: number;
  readonly until: number;
}

interface KeyState {
  limitHits: number;
  coolUntil: number;
  /** By the id of a model, or `ANY_MODEL`. */
  readonly rests: Map<string, Rest>;
}

export class KeyRotation {
  readonly #provider: string;
  readonly #clock: Clock;
  readonly #sources: () => readonly KeySource[];
  readonly #states = new Map<string, KeyState>();

  constructor(provider: string, clock: Clock, sources: () => readonly KeySource[]) {
    this.#provider = provider;
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
    const foreign: string[] = [];
    const refused: RefusedKey[] = [];
    let waitMs: number | undefined;
    for (const source of sources) {
      const { profile, where, reveal, login } = source;
      const value = reveal();
      if (value === undefined || value === "") {
        missing.push(where);
        continue;
      }
      if (SUBSCRIPTION_TOKEN.test(value)) {
        foreign.push(where);
        continue;
      }
      const state = this.#states.size > 0 ? this.#states.get(digest(value)) : undefined;
      const left = state ? state.coolUntil - this.#clock.monotonic() : 0;
      const rest = state && this.#restFor(state, model);
      if (rest) refused.push(this.#describe(source, rest));
      else if (left > 0) waitMs = Math.min(left, waitMs ?? Number.POSITIVE_INFINITY);
      else if (!keys.some((key) => key.value === value)) keys.push({ profile, where, value, login });
    }
    return { keys, missing, foreign, refused, waitMs: keys.length > 0 ? undefined : waitMs };
  }

  /** Every key whose last call was refused, even if its pause is over. */
  refusals(): readonly RefusedKey[] {
    if (this.#states.size === 0) return [];
    return this.#sources().flatMap((source) => {
      const rests = this.#states.get(digest(source.reveal() ?? ""))?.rests ?? new Map<string, Rest>();
      return [...rests.values()].map((rest) => this.#describe(source, rest));
    });
  }

  limited(key: Key, retryAfterMs?: number): void {
    const state = this.#state(key);
    state.limitHits += 1;
    const wait = retryAfterMs ?? Math.min(COOL_MAX_MS, COOL_BASE_MS * 2 ** (state.limitHits - 1));
    state.coolUntil = this.#clock.monotonic() + wait;
  }

  /** The pause doubles with each refusal in a row. Calls that were under way together count as one. */
  refused(key: Key, refusal: Refusal): void {
    const { rests } = this.#state(key);
    const name = refusal.onlyModel ? refusal.model : ANY_MODEL;
    const before = rests.get(name);
    const now = this.#clock.monotonic();
    if (before && before.until > now) return;
    const count = (before?.count ?? 0) + 1;
    rests.set(name, { ...refusal, count, until: now + refusalPauseMs(count) });
  }

  /** Resets the rate limit and the pauses. A refusal for another model stays. */
  worked(key: Key, model: string): void {
    const state = this.#states.size > 0 ? this.#states.get(digest(key.value)) : undefined;
    if (!state) return;
    state.limitHits = 0;
    state.rests.delete(ANY_MODEL);
    state.rests.delete(model);
  }

  /** Ends every pause: the next call tries the refused keys. */
  endPauses(): void {
    for (const { rests } of this.#states.values()) {
      for (const [name, rest] of rests) rests.set(name, { ...rest, until: 0 });
    }
  }

  #restFor({ rests }: KeyState, model: string): Rest | undefined {
    const now = this.#clock.monotonic();
    return [rests.get(ANY_MODEL), rests.get(model)].find((rest) => rest !== undefined && rest.until > now);
  }

  #describe({ profile, where, login }: KeySource, { model, status, onlyModel, until }: Rest): RefusedKey {
    const left = until - this.#clock.monotonic();
    const named = profile === DEFAULT_AUTH_PROFILE ? "" : ` --profile ${profile}`;
    return {
      provider: this.#provider,
      profile,
      where,
      replaceWith: `rookery models ${login ? "login" : "keys add"} ${this.#provider}${named}`,
      status: status ?? null,
      model: modelName({ provider: this.#provider, id: model }),
      onlyModel: onlyModel ?? false,
      tryAgainAt: left > 0 ? this.#clock.now() + left : null,
    };
  }

  #state({ value }: Key): KeyState {
    const id = digest(value);
    let state = this.#states.get(id);
    if (!state) {
      state = { limitHits: 0, coolUntil: 0, rests: new Map() };
      this.#states.set(id, state);
    }
    return state;
  }
}

const digest = (value: string): string => createHash("sha256").update(value).digest("base64");
