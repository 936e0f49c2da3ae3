/** Puts the models of a node together: providers and keys from the configuration and the home, the router over them. */
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { errorText } from "../../core/errors.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpPost } from "../../core/ports/http-post.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Model, ModelChoice } from "../../core/ports/model.ts";
import { httpPost } from "../system/http-post.ts";
import { readVersion } from "../system/version.ts";
import { apiFor } from "./api-for.ts";
import { storedKeysIn } from "./auth-file.ts";
import { chooseModel } from "./choose-model.ts";
import type { Detected } from "./detect.ts";
import { postThroughFetch } from "./post-through-fetch.ts";
import { Providers } from "./providers.ts";
import { ModelRouter } from "./router.ts";

export interface ModelsOptions {
  readonly config: Config;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** Where keys are looked up. Without it nothing is looked for: only what is configured is used. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly fetch?: typeof fetch;
}

export interface OpenModels {
  readonly model: Model;
  readonly providers: Providers;
  /** Which model an agent is answered by. What cannot be followed is logged once. */
  choose(agent: Pick<AgentRecord, "profile" | "state">, wishes?: RunOverrides): ModelChoice;
  /** What is used where nothing is configured, and why. */
  detect(): Promise<Detected>;
}

/** Loaded where nothing else answers. */
const offline: Model = {
  call: async (request, signal, onEvent) =>
    (await import("./offline-model.ts")).offlineModel.call(request, signal, onEvent),
  price: async (choice) => (await import("./offline-model.ts")).offlineModel.price?.(choice),
};

/** While nothing was found, how long until it is worth looking again. */
const LOOK_AGAIN_MS = 30_000;
const MAX_WARNINGS = 1_000;

export function openModels(options: ModelsOptions): OpenModels {
  const { config, paths, clock, log, env } = options;
  const storedKeys = storedKeysIn(paths.auth, (error) => log.warn(errorText(error)));
  const secrets = secretDeps(paths.home, env ?? {});
  const providers = new Providers(config.models, { clock, secrets, storedKeys });
  // Looked up per call: a program that replaces the global one is heard.
  const ask: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const detect = detection(options, ask, storedKeys, providers);
  const warned = new Set<string>();
  return {
    providers,
    detect,
    model: new ModelRouter({
      deps: {
        clock,
        fetch: ask,
        post: options.fetch ? undefined : plainPost(ask),
        userAgent: `rookery/${readVersion()}`,
      },
      log,
      providers,
      apiFor,
      detect: async () => (await detect()).model,
      offline,
    }),
    choose({ profile, state }, wishes = {}) {
      const { model, thinking } = wishes;
      const { warnings, ...choice } = chooseModel(config, profile, {
        ...state,
        ...(model === undefined ? {} : { modelOverride: model, providerOverride: undefined }),
        ...(thinking === undefined ? {} : { thinkingLevel: thinking }),
      });
      for (const warning of warnings) {
        if (warned.has(warning) || warned.size >= MAX_WARNINGS) continue;
        warned.add(warning);
        log.warn(warning);
      }
      return choice;
    },
  };
}

const NATIVE_FETCH = globalThis.fetch;

/** Straight to the server, unless a program has put itself in between. */
function plainPost(ask: typeof fetch): HttpPost {
  const through = postThroughFetch(ask);
  return (...request) => (globalThis.fetch === NATIVE_FETCH ? httpPost : through)(...request);
}

function detection(
  { config, clock, log, env }: ModelsOptions,
  ask: typeof fetch,
  storedKeys: ReturnType<typeof storedKeysIn>,
  providers: Providers,
): () => Promise<Detected> {
  if (env === undefined || config.models.detect === false) {
    const off: Detected = { model: "offline", why: "nothing is configured, and looking for a model is switched off" };
    return async () => off;
  }
  const hasKey = (provider: string): boolean => Object.hasOwn(storedKeys(), provider);
  let found: Promise<Detected> | undefined;
  let lookedAt = 0;
  const look = async (): Promise<Detected> => {
    lookedAt = clock.monotonic();
    const { detectModel, listensOn } = await import("./detect.ts");
    const detected = await detectModel({ clock, fetch: ask, env, listens: listensOn, hasKey });
    if (detected.server) providers.learn(detected.server);
    log.info("no model is configured", { using: detected.model, because: detected.why });
    return detected;
  };
  return async () => {
    found ??= look();
    const detected = await found;
    if (detected.model === "offline" && clock.monotonic() - lookedAt >= LOOK_AGAIN_MS) found = look();
    return await found;
  };
}
