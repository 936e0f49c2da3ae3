/**
 * Finds a model if none is configured: keys in the environment first, then the usual servers on this machine, otherwise
 * the offline model. Connects to loopback only.
 */
import { connect } from "node:net";
import { KNOWN_PROVIDERS } from "../../config/known-providers.ts";
import { type Clock, sleep } from "../../core/ports/clock.ts";

export interface Detected {
  /** `provider/id`, or `offline`. */
  readonly model: string;
  readonly why: string;
  /** Set if the model runs on a server of this machine. */
  readonly server?: DetectedServer;
}

export interface DetectedServer {
  readonly provider: string;
  readonly baseUrl: string;
  readonly models: readonly string[];
  readonly contextWindow?: number;
}

interface DetectDeps {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a port is open. Cheap: a closed port refuses at once. */
  readonly listens: (host: string, port: number, signal: AbortSignal) => Promise<boolean>;
  /** Whether a key was stored for a provider. */
  readonly hasKey?: (provider: string) => boolean;
}

const TIMEOUT_MS = 400;

export async function detectModel(deps: DetectDeps): Promise<Detected> {
  for (const [provider, { env, model }] of Object.entries(KNOWN_PROVIDERS)) {
    if (model === undefined) continue;
    const variable = env.find((name) => deps.env[name]);
    if (variable) return { model: `${provider}/${model}`, why: `the environment variable ${variable} is set` };
    if (deps.hasKey?.(provider))
      return { model: `${provider}/${model}`, why: `a key was set with \`rookery models keys\`` };
  }
  const [server] = await detectServers(deps);
  const id = server?.models[0];
  if (server && id) {
    return {
      model: `${server.provider}/${id}`,
      why: `${TITLES[server.provider]} answers at ${server.baseUrl}`,
      server,
    };
  }
  return { model: "offline", why: "no model is configured, no key is set and no model server runs on this machine" };
}

const TITLES: Readonly<Record<string, string>> = { ollama: "Ollama", lmstudio: "LM Studio", llamacpp: "llama.cpp" };

/** All servers that answer in time, in order of preference. Probed in parallel. */
async function detectServers(deps: DetectDeps): Promise<readonly DetectedServer[]> {
  const found = await Promise.all(Object.keys(TITLES).map((provider) => probe(deps, provider)));
  return found.filter((server) => server !== undefined);
}

async function probe(deps: DetectDeps, provider: string): Promise<DetectedServer | undefined> {
  const baseUrl = KNOWN_PROVIDERS[provider]?.baseUrl ?? "";
  const late = new AbortController();
  const done = new AbortController();
  void sleep(deps.clock, TIMEOUT_MS, done.signal).then((how) => how === "slept" && late.abort());
  try {
    const { hostname, port } = new URL(baseUrl);
    if (!(await deps.listens(hostname, Number(port), late.signal))) return undefined;
    const listed = await getJson(deps, `${baseUrl}/models`, late.signal);
    const models = modelIds(listed, provider);
    if (models.length === 0) return undefined;
    const contextWindow = await windowOf(deps, provider, baseUrl, late.signal);
    return { provider, baseUrl, models, contextWindow };
  } catch {
    return undefined;
  } finally {
    done.abort();
  }
}

/** Many programs use port 8080, so llama.cpp must identify itself. */
function modelIds(listed: unknown, provider: string): readonly string[] {
  const { data } = (listed ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) return [];
  return data.flatMap((entry: { id?: unknown; owned_by?: unknown } | null) => {
    if (typeof entry?.id !== "string" || entry.id === "" || /embed/i.test(entry.id)) return [];
    return provider === "llamacpp" && entry.owned_by !== "llamacpp" ? [] : [entry.id];
  });
}

/** Only llama.cpp reports its context window. */
async function windowOf(
  deps: DetectDeps,
  provider: string,
  baseUrl: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (provider !== "llamacpp") return undefined;
  const props = (await getJson(deps, baseUrl.replace(/\/v1$/, "/props"), signal).catch(() => undefined)) as
    | { default_generation_settings?: { n_ctx?: unknown } }
    | undefined;
  const size = props?.default_generation_settings?.n_ctx;
  return typeof size === "number" && size > 0 ? size : undefined;
}

async function getJson({ fetch }: DetectDeps, url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { signal, redirect: "error" });
  return response.ok ? await response.json() : undefined;
}

/** Uses a plain socket: loading an HTTP client only to find a closed port would take most of the start-up time. */
export function listensOn(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answer: boolean): void => {
      socket.destroy();
      signal.removeEventListener("abort", onAbort);
      resolve(answer);
    };
    const onAbort = (): void => end(false);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
