/**
 * The models of a node: providers and keys from the configuration and the home, and the router over them. They follow a reload;
 * calls under way end with the configuration they began with.
 */
import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Reloaded } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import { defined } from "../../core/defined.ts";
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
import { Logins } from "./logins/logins.ts";
import type { SharedLogins } from "./logins/shared-logins.ts";
import { postThroughFetch } from "./post-through-fetch.ts";
import { Providers } from "./providers.ts";
import { ModelRouter } from "./router.ts";

/** Loaded settings: another value is followed. */
interface ModelSettings extends Current<Config> {
  onReload?(listener: (reloaded: Reloaded) => void): void;
}

interface ModelsOptions {
  readonly settings: ModelSettings;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly log: Log;
  /** The environment with the keys. Without it no model is detected: only configured ones are used. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly fetch?: typeof fetch;
  /** For nodes that share a store: one of them refreshes the tokens of a login at a time. */
  readonly sharedLogins?: SharedLogins;
}

export interface OpenModels {
  readonly model: Model;
  /** Of the settings in force; another object after a reload that changes `models`. */
  readonly providers: Providers;
  /** The model for an agent's run. An invalid override is ignored and logged once. `config`: default, the one in force. */
  choose(
    agent: Pick<AgentRecord, "profile" | "state">,
    overrides?: RunOverrides,
    config?: Pick<Config, "models" | "profiles">,
  ): ModelChoice;
  /** The model if none is configured, and why. The same object until it is detected again. */
  detect(): Promise<Detected>;
}

let loadingOffline: Promise<Model> | undefined;

function loadOffline(): Promise<Model> {
  loadingOffline ??= import("./offline-model.ts").then(({ offlineModel }) => offlineModel);
  return loadingOffline;
}

/** Loaded on first use. */
const offline: Model = {
  call: async (request, signal, onEvent) => (await loadOffline()).call(request, signal, onEvent),
  price: async (choice) => (await loadOffline()).price?.(choice),
};

/** How long after a detection without a result the next one may start. */
const DETECT_AGAIN_MS = 30_000;
const MAX_WARNINGS = 1_000;

export function openModels(options: ModelsOptions): OpenModels {
  const { settings, log } = options;
  let current = routerOf(options);
  let warned = new Set<string>();
  settings.onReload?.(({ changed }) => {
    if (changed.some((key) => key.startsWith("models."))) {
      current = routerOf(options);
      warned = new Set();
    }
    // Keys that were refused are tried again (M47).
    current.providers.endPauses();
  });
  return {
    model: {
      call: (request, signal, onEvent) => current.router.call(request, signal, onEvent),
      price: (choice) => current.router.price(choice),
    },
    get providers() {
      return current.providers;
    },
    detect: () => current.detect(),
    choose({ profile, state }, { model, thinking } = {}, config = settings.current) {
      const { warnings, ...choice } = chooseModel(config, profile, {
        ...state,
        ...defined({ modelOverride: model, thinkingLevel: thinking }),
        // A run's own model names its provider itself.
        providerOverride: model === undefined ? state.providerOverride : undefined,
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

function routerOf(options: ModelsOptions) {
  const { settings, paths, clock, log, env } = options;
  const storedKeys = storedKeysIn(paths.auth, (error) => log.warn(errorText(error)));
  const secrets = secretDeps(paths.home, env ?? {});
  // The global fetch is read at each call, so that a program may replace it.
  const fetchNow: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const logins = new Logins({ file: paths.logins, clock, log, shared: options.sharedLogins });
  const providers = new Providers(settings.current.models, { clock, secrets, storedKeys, logins, fetch: fetchNow });
  const hasKey = (provider: string): boolean =>
    Object.hasOwn(storedKeys(), provider) || Object.hasOwn(logins.all(), provider);
  const detect = detection(options, fetchNow, hasKey, providers);
  const post = options.fetch ? undefined : directPost(fetchNow);
  const router = new ModelRouter({
    deps: { clock, fetch: fetchNow, post, userAgent: `rookery/${readVersion()}` },
    log,
    providers,
    apiFor,
    detect: async () => (await detect()).model,
    offline,
  });
  return { router, providers, detect };
}

const NATIVE_FETCH = globalThis.fetch;

/** Calls the server without `fetch`, unless a program has replaced the global `fetch`. */
function directPost(fetchNow: typeof fetch): HttpPost {
  const throughFetch = postThroughFetch(fetchNow);
  return (...request) => (globalThis.fetch === NATIVE_FETCH ? httpPost : throughFetch)(...request);
}

function detection(
  { clock, log, env }: ModelsOptions,
  fetchNow: typeof fetch,
  hasKey: (provider: string) => boolean,
  providers: Providers,
): () => Promise<Detected> {
  const off: Detected = { model: "offline", why: "no model is configured" };
  let found: Promise<Detected> | undefined;
  let detectedAt = 0;
  const run = async (env: NonNullable<ModelsOptions["env"]>): Promise<Detected> => {
    detectedAt = clock.monotonic();
    const { detectModel, listensOn } = await import("./detect.ts");
    const detected = await detectModel({ clock, fetch: fetchNow, env, listens: listensOn, hasKey });
    if (detected.server) providers.learn(detected.server);
    log.info("no model is configured", { using: detected.model, because: detected.why });
    return detected;
  };
  return async () => {
    if (env === undefined) return off;
    found ??= run(env);
    const detected = await found;
    if (detected.model === "offline" && clock.monotonic() - detectedAt >= DETECT_AGAIN_MS) found = run(env);
    return await found;
  };
}
