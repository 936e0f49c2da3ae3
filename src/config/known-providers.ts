/** Providers that need no description: where they are, what they speak, and where a key for them usually is. */

export interface KnownProvider {
  readonly api: string;
  readonly baseUrl: string;
  /** Environment variables that may hold a key, the first that is set wins. */
  readonly env: readonly string[];
  /** The model used where a key is found and nothing else is said. */
  readonly model?: string;
  /** Servers on this machine want none. */
  readonly keyless?: true;
  /** What fits where nobody says otherwise and a server would cut without a word. */
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
  ollama: {
    api: "openai-completions",
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
