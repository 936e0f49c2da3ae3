/**
 * How much a token and a person may ask and spend: requests in a minute, tokens and dollars in a day. What was spent is
 * counted when a run ends and kept as a fact, so that a restart forgets nothing; calls under way may go beyond (L8). Nodes
 * on one store count what was spent together, and requests in a minute each for itself.
 */

import { ConflictError, errorText } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { HttpError } from "../http/http-error.ts";
import { Buckets } from "./buckets.ts";
import type { Allowance, Principal } from "./principal.ts";

interface Spent {
  readonly day: string;
  readonly tokens: number;
  readonly dollars: number;
}

export interface AllowanceLimits {
  readonly perToken: Allowance;
  readonly perPerson: Allowance;
}

const MINUTE_MS = 60_000;
const MAX_KNOWN = 10_000;
const MAX_TRIES = 50;

export class Allowances {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  readonly #limits: () => AllowanceLimits;
  readonly #buckets: Buckets;
  readonly #spent = new Map<string, Spent>();
  /** Whether other nodes count too, so that what is remembered may be old. */
  readonly #shared: boolean;

  constructor(
    ports: Pick<Ports, "store" | "ids" | "clock" | "log">,
    limits: () => AllowanceLimits,
    shared: boolean = false,
  ) {
    this.#shared = shared;
    this.#ports = ports;
    this.#limits = limits;
    this.#buckets = new Buckets(() => ports.clock.monotonic());
  }

  /** Throws a 429 where a token or a person has asked or spent as much as it may. */
  async admit(principal: Principal, person: string | undefined): Promise<void> {
    const { perToken, perPerson } = this.#limits();
    await this.#check(`token:${principal.id}`, { ...perToken, ...said(principal.limits) }, "This token");
    if (person !== undefined) await this.#check(`person:${person}`, perPerson, "This person");
  }

  async #check(name: string, allowance: Allowance, who: string): Promise<void> {
    const { requestsPerMinute, tokensPerDay, dollarsPerDay } = allowance;
    if (requestsPerMinute !== undefined) {
      const wait = this.#buckets.take(name, { burst: requestsPerMinute, perSecond: requestsPerMinute / 60 });
      if (wait > 0) {
        throw new HttpError(429, "rate_limit_exceeded", `${who} may ask ${requestsPerMinute} times a minute.`, {
          retryAfterMs: Math.min(wait, MINUTE_MS),
        });
      }
    }
    if (tokensPerDay === undefined && dollarsPerDay === undefined) return;
    const { tokens, dollars } = await this.#spentBy(name);
    const over =
      (tokensPerDay !== undefined && tokens >= tokensPerDay && `${tokensPerDay} tokens`) ||
      (dollarsPerDay !== undefined && dollars >= dollarsPerDay && `${dollarsPerDay} dollars`);
    if (!over) return;
    throw new HttpError(429, "insufficient_quota", `${who} may spend ${over} a day, and has.`, {
      hint: "It begins anew at midnight UTC.",
    });
  }

  /** Counts what a run cost. Only where somebody set a limit that it counts towards. */
  async charge(principal: Principal, person: string | undefined, runId: RunId): Promise<void> {
    const { perToken, perPerson } = this.#limits();
    const limited = (allowance: Allowance): boolean =>
      allowance.tokensPerDay !== undefined || allowance.dollarsPerDay !== undefined;
    const names = [
      ...(limited({ ...perToken, ...said(principal.limits) }) ? [`token:${principal.id}`] : []),
      ...(person !== undefined && limited(perPerson) ? [`person:${person}`] : []),
    ];
    if (names.length === 0) return;
    try {
      const usage = (await this.#ports.store.run(runId))?.body.usage;
      if (!usage) return;
      for (const name of names) await this.#add(name, usage.totalTokens, usage.cost?.total ?? 0);
    } catch (error) {
      this.#ports.log.warn("what a run cost was not counted", { run: runId, error: errorText(error) });
    }
  }

  async #add(name: string, tokens: number, dollars: number): Promise<void> {
    const { store, clock } = this.#ports;
    const key = `api.spent:${name}`;
    const day = dayOf(clock);
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const written = this.#shared ? ((await store.fact(key)) ?? null) : undefined;
      if (written === undefined) await this.#spentBy(name);
      // Nothing is awaited between reading and writing: two runs that end together both count.
      const known = written === undefined ? this.#spent.get(name) : read(written ?? undefined);
      const before = known?.day === day ? known : { tokens: 0, dollars: 0 };
      const spent = { day, tokens: before.tokens + tokens, dollars: before.dollars + dollars };
      if (written === undefined) this.#keep(name, spent);
      const put = { op: "fact.put", key, value: JSON.stringify(spent) } as const;
      const ops = [written === undefined ? put : { ...put, expect: written }];
      if ((await submit(this.#ports, "api.spent", ops)).ok) return;
    }
    throw new ConflictError(`What ${name} spent is being counted by others all the while.`);
  }

  async #spentBy(name: string): Promise<Spent> {
    const day = dayOf(this.#ports.clock);
    let known = this.#shared ? undefined : this.#spent.get(name);
    if (!known) {
      const kept = read(await this.#ports.store.fact(`api.spent:${name}`));
      known = (this.#shared ? kept : (this.#spent.get(name) ?? kept)) ?? { day, tokens: 0, dollars: 0 };
      if (!this.#shared) this.#keep(name, known);
    }
    return known.day === day ? known : { day, tokens: 0, dollars: 0 };
  }

  #keep(name: string, spent: Spent): void {
    this.#spent.delete(name);
    this.#spent.set(name, spent);
    const [oldest] = this.#spent.keys();
    if (this.#spent.size > MAX_KNOWN && oldest !== undefined) this.#spent.delete(oldest);
  }
}

const dayOf = (clock: Clock): string => new Date(clock.now()).toISOString().slice(0, 10);

/** Only what is said: what is left out must not hide what holds for all. */
const said = (allowance: Allowance | undefined): Allowance =>
  Object.fromEntries(Object.entries(allowance ?? {}).filter(([, value]) => value !== undefined));

function read(text: string | undefined): Spent | undefined {
  if (text === undefined) return undefined;
  try {
    const { day, tokens, dollars } = JSON.parse(text) as Spent;
    return typeof day === "string" ? { day, tokens: Number(tokens) || 0, dollars: Number(dollars) || 0 } : undefined;
  } catch {
    return undefined;
  }
}
