/**
 * The scripted model behind the real router: two providers with several keys, each of which reaches its limit for a while
 * or is refused from some time on. Every use of a key is recorded from the provider's side.
 */

import { offlineModel } from "../../../src/adapters/models/offline-model.ts";
import type { ProviderApi } from "../../../src/adapters/models/provider-call.ts";
import { Providers } from "../../../src/adapters/models/providers.ts";
import { ModelRouter } from "../../../src/adapters/models/router.ts";
import { configDefaults } from "../../../src/config/config-schema.ts";
import { parseConfig } from "../../../src/config/parse-config.ts";
import { silentLog } from "../../../src/core/ports/log.ts";
import type { Model, ModelChoice, ModelError, ModelResult } from "../../../src/core/ports/model.ts";
import type { Random } from "../../kit/random.ts";
import type { EventLog } from "./event-log.ts";
import type { Faults } from "./faults.ts";
import type { SimProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ScriptedModel } from "./scripted-model.ts";

export const ROUTED_CHOICE: ModelChoice = { model: "first/m", fallbacks: ["second/n"] };

export interface KeyUse {
  readonly process: string;
  readonly key: string;
  readonly startedAt: number;
  /** When the process got its answer; undefined if it got none. */
  answeredAt: number | undefined;
  readonly outcome: "answered" | "limited" | "refused";
  /** The end of the wait that the provider asked for. */
  readonly until: number;
}

/** A model that can be made to forget its keys, for a mutation. */
export interface ForgetfulModel extends Model {
  forgetful(): Model;
}

export interface RoutedWorld {
  readonly scheduler: Scheduler;
  readonly log: EventLog;
  readonly faults: Faults;
  readonly random: Random;
  readonly model: ScriptedModel;
}

const KEYS = { first: { a: "first-a", b: "first-b", c: "first-c" }, second: { a: "second-a", b: "second-b" } };
/** Short enough that a run that waits as long as the provider asks still gets its answer. */
const MAX_LIMIT_MS = 1_500;
const PROVIDER = (id: string) =>
  `{ api: "openai-completions", baseUrl: "http://127.0.0.1:9", models: [{ id: "${id}" }] }`;

export interface RoutedModel {
  readonly uses: readonly KeyUse[];
  port(process: SimProcess): ForgetfulModel;
}

export function makeRoutedModel(world: RoutedWorld): RoutedModel {
  const { scheduler, log, faults, random, model } = world;
  const uses: KeyUse[] = [];
  const text = `{ models: { providers: { first: ${PROVIDER("m")}, second: ${PROVIDER("n")} } } }`;
  const { models } = parseConfig({ text, file: "rookery.json5", env: {} }).config ?? configDefaults;
  const limitedUntil = new Map<string, number>();
  // One key of each provider is never refused; the others may be, from some time on.
  const refusedFrom = new Map(
    ["first-a", "first-b", "second-a"].map((key) => [
      key,
      random.chance(0.5) ? random.int(1_000, 12_000) : Number.POSITIVE_INFINITY,
    ]),
  );

  /** How a provider treats a key at this time. */
  function meets(key: string): Pick<KeyUse, "outcome" | "until"> {
    const now = scheduler.time;
    if (now >= (refusedFrom.get(key) ?? Number.POSITIVE_INFINITY)) return { outcome: "refused", until: 0 };
    if (now < (limitedUntil.get(key) ?? 0)) return { outcome: "limited", until: limitedUntil.get(key) ?? 0 };
    if (!faults.active || !random.chance(0.12)) return { outcome: "answered", until: 0 };
    const until = now + random.int(100, MAX_LIMIT_MS);
    limitedUntil.set(key, until);
    return { outcome: "limited", until };
  }

  const apiOf =
    (process: SimProcess): ProviderApi =>
    async (_, { key = "-", request, signal, onEvent, model: asked }) => {
      const use: KeyUse = {
        process: process.name,
        key,
        startedAt: scheduler.time,
        answeredAt: undefined,
        ...meets(key),
      };
      uses.push(use);
      log.write(process.name, `${key} is ${use.outcome}`);
      const { provider, id, api } = asked;
      if (use.outcome === "answered") {
        const result = await model.port(process).call(request, signal, onEvent);
        use.answeredAt = scheduler.time;
        return { ...result, api, provider, model: id };
      }
      return process.call<ModelResult & { status: number }>("model", "key", (answer) => {
        scheduler.after(5, () => {
          use.answeredAt = scheduler.time;
          const refused = { content: [], stopReason: "error" as const, api, provider, model: id };
          answer({ value: { ...refused, ...refusal(use, scheduler.time) } });
        });
      });
    };

  const routerOf = (process: SimProcess): Model =>
    new ModelRouter({
      deps: { clock: process.clock, fetch, userAgent: "sim" },
      log: silentLog,
      providers: new Providers(models, {
        clock: process.clock,
        secrets: { env: {}, readFile: () => "" },
        storedKeys: () => KEYS,
      }),
      apiFor: async () => apiOf(process),
      detect: async () => "offline",
      offline: offlineModel,
    });

  return {
    uses,
    port(process) {
      const router = routerOf(process);
      return {
        call: (request, signal, onEvent) => router.call(request, signal, onEvent),
        forgetful: () => ({
          call: (request, signal, onEvent) => routerOf(process).call(request, signal, onEvent),
        }),
      };
    },
  };
}

/** The answer of a provider to a key that is limited or not valid. */
function refusal({ key, outcome, until }: KeyUse, now: number): { error: ModelError; status: number } {
  if (outcome !== "limited") return { error: { class: "auth", message: "not valid" }, status: 401 };
  const message = `${key.slice(0, 3)} too many requests`;
  return { error: { class: "rate", message, retryAfterMs: Math.max(1, until - now) }, status: 429 };
}
