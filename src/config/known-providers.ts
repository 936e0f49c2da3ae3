/** Providers that need no configuration: their address, their API, and where their key usually is. */

interface KnownProvider {
  readonly api: string;
  readonly baseUrl: string;
  /** Environment variables that may hold a key; the first that is set wins. */
  readonly env: readonly string[];
  /** The model used if a key is found and no model is configured. */
  readonly model?: string;
  /** It has no keys: only `rookery models login`. */
  readonly loginOnly?: true;
  /** Servers on this machine need no key. */
  readonly keyless?: true;
  /** The context window to assume, for servers that cut longer prompts silently. */
  readonly contextWindow?: number;
}

export const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  anthropic: {
    api: "anthropic-messages",
    baseUrl: "https://api.anthropic.com",
    env: ["ANTHROPIC_API_KEY"],
    model: "claude-sonnet-5",
  },
  openai: {
    api: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    env: ["OPENAI_API_KEY"],
    model: "gpt-5.4",
  },
  google: {
    api: "google-generative-ai",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    env: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    model: "gemini-3.5-flash",
  },
  openrouter: {
    api: "openai-completions",
    baseUrl: "https://openrouter.ai/api/v1",
    env: ["OPENROUTER_API_KEY"],
    model: "openrouter/auto",
  },
  xai: { api: "openai-responses", baseUrl: "https://api.x.ai/v1", env: ["XAI_API_KEY"], model: "grok-4.7" },
  "kimi-coding": {
    api: "anthropic-messages",
    baseUrl: "https://api.kimi.com/coding",
    env: ["KIMI_API_KEY"],
    model: "kimi-for-coding",
  },
  meta: {
    api: "openai-responses",
    baseUrl: "https://api.meta.ai/v1",
    env: ["META_API_KEY"],
    model: "muse-spark-1.3",
  },
  "openai-codex": {
    api: "openai-codex-responses",
    baseUrl: "https://chatgpt.com/backend-api",
    env: [],
    model: "gpt-5.5",
    loginOnly: true,
  },
  radius: { api: "pi-messages", baseUrl: "https://radius.pi.dev/v1", env: ["RADIUS_API_KEY"], model: "balanced" },
  ollama: {
    api: "ollama",
    baseUrl: "http://127.0.0.1:11434/v1",
    env: [],
    keyless: true,
    contextWindow: 4_096,
  },
  lmstudio: { api: "openai-completions", baseUrl: "http://127.0.0.1:1234/v1", env: [], keyless: true },
  llamacpp: { api: "openai-completions", baseUrl: "http://127.0.0.1:8080/v1", env: [], keyless: true },
};

export const knownProvider = (name: string): KnownProvider | undefined =>
  Object.hasOwn(KNOWN_PROVIDERS, name) ? KNOWN_PROVIDERS[name] : undefined;
