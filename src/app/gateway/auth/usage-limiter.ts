/**
 * Limits per token and per person: requests per minute, model tokens and dollars per day. The end of a run adds its usage to
 * the daily counts in its own commit (`core/budget/quota.ts`); runs in flight may exceed the limit (L8). Nodes that share a
 * store share the daily counts; each node counts requests per minute for itself.
 */
import { FRESH_ROW, microsOf } from "../../../core/budget/budget.ts";
import { quotaKey } from "../../../core/budget/quota.ts";
import { defined } from "../../../core/defined.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { HttpError } from "../http/http-error.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import type { Principal, UsageLimits } from "./principal.ts";

export interface ConfiguredLimits {
  readonly perToken: UsageLimits;
  readonly perPerson: UsageLimits;
}

interface Account {
  readonly name: string;
  readonly limits: UsageLimits;
  /** The start of a sentence. */
  readonly who: string;
}

const MINUTE_MS = 60_000;

export class UsageLimiter {
  readonly #ports: Pick<Ports, "store" | "clock">;
  readonly #limits: () => ConfiguredLimits;
  readonly #rates: RateLimiter;

  constructor(ports: Pick<Ports, "store" | "clock">, limits: () => ConfiguredLimits) {
    this.#ports = ports;
    this.#limits = limits;
    this.#rates = new RateLimiter(() => ports.clock.monotonic());
  }

  /**
   * Throws a 429 if the token or the person has reached a limit. Counts the request. `isRepeated`: called at a used-up
   * quota; a request that repeats an earlier one costs nothing and passes.
   */
  async admit(
    principal: Principal,
    person: string | undefined,
    isRepeated: () => Promise<boolean> = async () => false,
  ): Promise<void> {
    for (const account of this.#accounts(principal, person)) {
      this.#checkRate(account);
      const usedUp = await this.#usedUp(account);
      if (usedUp && !(await isRepeated())) throw usedUp;
    }
  }

  /** The accounts with a daily limit: the run of an accepted message counts for them. */
  accountsOf(principal: Principal, person: string | undefined): readonly string[] | undefined {
    const names = this.#accounts(principal, person).flatMap(({ name, limits }) => (hasDailyLimit(limits) ? name : []));
    return names.length === 0 ? undefined : names;
  }

  #accounts(principal: Principal, person: string | undefined): readonly Account[] {
    const { perToken, perPerson } = this.#limits();
    const limits = { ...perToken, ...defined(principal.limits ?? {}) };
    const token = { name: `token:${principal.id}`, limits, who: "This token" };
    return person === undefined
      ? [token]
      : [token, { name: `person:${person}`, limits: perPerson, who: "This person" }];
  }

  #checkRate({ name, limits: { requestsPerMinute }, who }: Account): void {
    if (requestsPerMinute === undefined) return;
    const wait = this.#rates.take(name, { burst: requestsPerMinute, perSecond: requestsPerMinute / 60 });
    if (wait === 0) return;
    throw new HttpError(429, "rate_limit_exceeded", `${who} may send ${requestsPerMinute} requests per minute.`, {
      retryAfterMs: Math.min(wait, MINUTE_MS),
    });
  }

  async #usedUp({ name, limits, who }: Account): Promise<HttpError | undefined> {
    if (!hasDailyLimit(limits)) return undefined;
    const { store, clock } = this.#ports;
    const { tokensPerDay, dollarsPerDay } = limits;
    const { spent } = (await store.budget(quotaKey(name, clock.now()))) ?? FRESH_ROW;
    const reached =
      (tokensPerDay !== undefined && spent.tokens >= tokensPerDay && `${tokensPerDay} tokens`) ||
      (dollarsPerDay !== undefined && spent.micros >= microsOf(dollarsPerDay) && `${dollarsPerDay} dollars`);
    if (!reached) return undefined;
    return new HttpError(429, "insufficient_quota", `${who} has used its ${reached} of today.`, {
      hint: "The count starts again at midnight UTC.",
    });
  }
}

const hasDailyLimit = ({ tokensPerDay, dollarsPerDay }: UsageLimits): boolean =>
  tokensPerDay !== undefined || dollarsPerDay !== undefined;
