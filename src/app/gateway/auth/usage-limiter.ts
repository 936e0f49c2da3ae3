/**
 * Limits per token and per person: requests per minute, model tokens and dollars per day. Usage is counted when a run ends
 * and stored as a fact, so it survives a restart; runs in flight may exceed the limit (L8). Nodes that share a store share
 * the daily counts; each node counts requests per minute for itself.
 */
import { defined } from "../../../core/defined.ts";
import { ConflictError, errorText } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { HttpError } from "../http/http-error.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import type { Principal, UsageLimits } from "./principal.ts";

interface DailyUsage {
  readonly day: string;
  readonly tokens: number;
  readonly dollars: number;
}

export interface ConfiguredLimits {
  readonly perToken: UsageLimits;
  readonly perPerson: UsageLimits;
}

const MINUTE_MS = 60_000;
const MAX_NAMES_IN_MEMORY = 10_000;
const MAX_TRIES = 50;

export class UsageLimiter {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  readonly #limits: () => ConfiguredLimits;
  readonly #rates: RateLimiter;
  readonly #usage = new Map<string, DailyUsage>();
  /** Other nodes count too, so a count in memory may be outdated. */
  readonly #shared: boolean;

  constructor(
    ports: Pick<Ports, "store" | "ids" | "clock" | "log">,
    limits: () => ConfiguredLimits,
    shared: boolean = false,
  ) {
    this.#shared = shared;
    this.#ports = ports;
    this.#limits = limits;
    this.#rates = new RateLimiter(() => ports.clock.monotonic());
  }

  /** Throws a 429 if the token or the person has reached a limit. Counts the request. */
  async admit(principal: Principal, person: string | undefined): Promise<void> {
    const { perToken, perPerson } = this.#limits();
    await this.#check(`token:${principal.id}`, { ...perToken, ...defined(principal.limits ?? {}) }, "This token");
    if (person !== undefined) await this.#check(`person:${person}`, perPerson, "This person");
  }

  async #check(name: string, limits: UsageLimits, who: string): Promise<void> {
    const { requestsPerMinute, tokensPerDay, dollarsPerDay } = limits;
    if (requestsPerMinute !== undefined) {
      const wait = this.#rates.take(name, { burst: requestsPerMinute, perSecond: requestsPerMinute / 60 });
      if (wait > 0) {
        throw new HttpError(429, "rate_limit_exceeded", `${who} may send ${requestsPerMinute} requests per minute.`, {
          retryAfterMs: Math.min(wait, MINUTE_MS),
        });
      }
    }
    if (tokensPerDay === undefined && dollarsPerDay === undefined) return;
    const { tokens, dollars } = await this.#usageOf(name);
    const reached =
      (tokensPerDay !== undefined && tokens >= tokensPerDay && `${tokensPerDay} tokens`) ||
      (dollarsPerDay !== undefined && dollars >= dollarsPerDay && `${dollarsPerDay} dollars`);
    if (!reached) return;
    throw new HttpError(429, "insufficient_quota", `${who} has used its ${reached} of today.`, {
      hint: "The count starts again at midnight UTC.",
    });
  }

  /** Adds the usage of an ended run to the daily counts that have a limit. Must not reject: a failure is logged. */
  async charge(principal: Principal, person: string | undefined, runId: RunId): Promise<void> {
    const { perToken, perPerson } = this.#limits();
    const hasDailyLimit = (limits: UsageLimits): boolean =>
      limits.tokensPerDay !== undefined || limits.dollarsPerDay !== undefined;
    const names = [
      ...(hasDailyLimit({ ...perToken, ...defined(principal.limits ?? {}) }) ? [`token:${principal.id}`] : []),
      ...(person !== undefined && hasDailyLimit(perPerson) ? [`person:${person}`] : []),
    ];
    if (names.length === 0) return;
    try {
      const usage = (await this.#ports.store.run(runId))?.body.usage;
      if (!usage) return;
      for (const name of names) await this.#add(name, usage.totalTokens, usage.cost?.total ?? 0);
    } catch (error) {
      this.#ports.log.warn("the usage of a run was not counted", { run: runId, error: errorText(error) });
    }
  }

  async #add(name: string, tokens: number, dollars: number): Promise<void> {
    const { store, clock } = this.#ports;
    const key = `api.spent:${name}`;
    const day = dayOf(clock);
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const stored = this.#shared ? ((await store.fact(key)) ?? null) : undefined;
      if (stored === undefined) await this.#usageOf(name);
      // No await between reading and writing: otherwise two runs that end together could count as one.
      const known = stored === undefined ? this.#usage.get(name) : parseUsage(stored ?? undefined);
      const before = known?.day === day ? known : { tokens: 0, dollars: 0 };
      const usage = { day, tokens: before.tokens + tokens, dollars: before.dollars + dollars };
      if (stored === undefined) this.#remember(name, usage);
      const put = { op: "fact.put", key, value: JSON.stringify(usage) } as const;
      const ops = [stored === undefined ? put : { ...put, expect: stored }];
      if ((await submit(this.#ports, "api.spent", ops)).ok) return;
    }
    throw new ConflictError(`Other nodes keep changing the usage of ${name}.`);
  }

  async #usageOf(name: string): Promise<DailyUsage> {
    const day = dayOf(this.#ports.clock);
    let known = this.#shared ? undefined : this.#usage.get(name);
    if (!known) {
      const stored = parseUsage(await this.#ports.store.fact(`api.spent:${name}`));
      known = (this.#shared ? stored : (this.#usage.get(name) ?? stored)) ?? { day, tokens: 0, dollars: 0 };
      if (!this.#shared) this.#remember(name, known);
    }
    return known.day === day ? known : { day, tokens: 0, dollars: 0 };
  }

  #remember(name: string, usage: DailyUsage): void {
    this.#usage.delete(name);
    this.#usage.set(name, usage);
    const [oldest] = this.#usage.keys();
    if (this.#usage.size > MAX_NAMES_IN_MEMORY && oldest !== undefined) this.#usage.delete(oldest);
  }
}

const dayOf = (clock: Clock): string => new Date(clock.now()).toISOString().slice(0, 10);

function parseUsage(text: string | undefined): DailyUsage | undefined {
  if (text === undefined) return undefined;
  try {
    const { day, tokens, dollars } = JSON.parse(text) as DailyUsage;
    return typeof day === "string" ? { day, tokens: Number(tokens) || 0, dollars: Number(dollars) || 0 } : undefined;
  } catch {
    return undefined;
  }
}
