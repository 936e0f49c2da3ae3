/**
 * The limits of tokens and of the people who use the API: requests per minute here; messages, model tokens and dollars per day in the
 * engine (M21). A token counts for every token that minted it, so a token never spends more than its minter has left. Nodes
 * that share a store share the daily counts; each node counts requests per minute for itself.
 */
import {
  allowedOf,
  dayKey,
  FRESH_ROW,
  isLimited,
  type Limit,
  limitOf,
  messagesKey,
  reachedText,
} from "../../../core/budget/budget.ts";
import { defined } from "../../../core/defined.ts";
import type { DayLimit } from "../../../core/people/behalf.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { HttpError } from "../http/http-error.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import type { Principal, UsageLimits } from "./principal.ts";

interface ConfiguredLimits {
  readonly perToken: UsageLimits;
  readonly perPerson: UsageLimits;
}

interface LimiterOptions {
  readonly limits: () => ConfiguredLimits;
  /** The calendar day in the installation's time zone. */
  readonly dayOf: (at: number) => string;
}

interface Account extends Pick<DayLimit, "of" | "id"> {
  readonly limits: UsageLimits;
}

type Token = Pick<Principal, "id" | "limits" | "above">;

const MINUTE_MS = 60_000;
const NOTHING_MORE = { tokens: 0, micros: 0 };

export class UsageLimiter {
  readonly #ports: Pick<Ports, "store" | "clock">;
  readonly #options: LimiterOptions;
  readonly #rates: RateLimiter;

  constructor(ports: Pick<Ports, "store" | "clock">, options: LimiterOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#rates = new RateLimiter(() => ports.clock.monotonic());
  }

  /**
   * Throws a 429 if the token, one that minted it, or the person has reached a limit. Counts the request. A request that repeats an
   * earlier one passes and counts nothing; `isRepeated` is called only if something is limited.
   */
  async admit(
    principal: Token,
    person: PersonId | undefined,
    isRepeated: () => Promise<boolean> = async () => false,
  ): Promise<void> {
    const accounts = this.#accounts(principal, person).filter(({ limits }) => Object.keys(limits).length > 0);
    if (accounts.length === 0 || (await isRepeated())) return;
    // All quotas before the first rate: a request that is refused takes no permit.
    for (const account of accounts) await this.#assertLeft(account);
    for (const account of accounts) this.#checkRate(account);
  }

  /** The daily limits that everything counts for which a request leads to. Undefined if there are none. */
  dayLimitsOf(principal: Token, person: PersonId | undefined): readonly DayLimit[] | undefined {
    const limits = this.#accounts(principal, person).flatMap(({ of, id, limits }) => {
      const limit = daily(limits);
      return isLimited(limit) ? [{ of, id, ...limit }] : [];
    });
    return limits.length === 0 ? undefined : limits;
  }

  #accounts({ id, limits, above = [] }: Token, person: PersonId | undefined): readonly Account[] {
    const { perToken, perPerson } = this.#options.limits();
    const tokens = [{ id, limits }, ...above].map(
      (token): Account => ({
        of: "token",
        id: token.id,
        limits: { ...defined(perToken), ...defined(token.limits ?? {}) },
      }),
    );
    return person === undefined ? tokens : [...tokens, { of: "person", id: person, limits: defined(perPerson) }];
  }

  #checkRate({ of, id, limits: { requestsPerMinute } }: Account): void {
    if (requestsPerMinute === undefined) return;
    const wait = this.#rates.take(`${of}:${id}`, { burst: requestsPerMinute, perSecond: requestsPerMinute / 60 });
    if (wait === 0) return;
    const who = of === "token" ? `The token ${id}` : id;
    throw new HttpError(429, "rate_limit_exceeded", `${who} may send ${requestsPerMinute} requests per minute.`, {
      retryAfterMs: Math.min(wait, MINUTE_MS),
    });
  }

  /** Refuses early what the engine would refuse at the first call of the model. */
  async #assertLeft(account: Account): Promise<void> {
    const { messages, ...spending } = daily(account.limits);
    const day = this.#options.dayOf(this.#ports.clock.now());
    if (isLimited(spending)) await this.#assertRow(dayKey(account, day), spending);
    if (messages !== undefined) await this.#assertRow(messagesKey(account, day), { tokens: messages });
  }

  async #assertRow(key: string, limit: Limit): Promise<void> {
    const { spent, lifted } = (await this.#ports.store.budget(key)) ?? FRESH_ROW;
    const allowed = allowedOf(limit, lifted);
    const { tokens = Number.POSITIVE_INFINITY, micros = Number.POSITIVE_INFINITY } = allowed;
    if (spent.tokens < tokens && spent.micros < micros) return;
    // At the limit in money the text speaks of money.
    const needed = spent.micros >= micros ? { tokens: 0, micros: 1 } : NOTHING_MORE;
    throw new HttpError(429, "insufficient_quota", reachedText(key, allowed, spent, needed), {
      hint: "The count starts again at midnight.",
    });
  }
}

const daily = ({ tokensPerDay, dollarsPerDay, messagesPerDay }: UsageLimits): Limit =>
  limitOf({ tokens: tokensPerDay, dollars: dollarsPerDay, messages: messagesPerDay });
