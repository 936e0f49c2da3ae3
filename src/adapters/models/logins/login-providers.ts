/**
 * The providers that a person can log in to: what each says about programs that are not its own, and the flow, which the model
 * library ships. A provider that forbids other programs is refused: the library would have to pretend to be one of its own.
 */
import type { OAuthAuth } from "@earendil-works/pi-ai";

export type LoginFlow = Pick<OAuthAuth, "login" | "refresh" | "toAuth">;

export interface LoginProvider {
  /** The account that the person logs in with. */
  readonly account: string;
  /** Whether the provider permits programs that are not its own. `unknown`: it has published neither. */
  readonly permits: "yes" | "no" | "unknown";
  /** What a person should know before the login, in whole sentences. */
  readonly notice: string;
  /** Absent if the login is refused. */
  readonly load?: () => Promise<LoginFlow>;
}

const ownClient = (provider: string, program: string): string =>
  `${provider} has not said whether programs other than its own may use this login, which identifies itself as ${program}. ` +
  "It may refuse it, or close your account. Use an API key if you must be sure.";

export const LOGIN_PROVIDERS: Readonly<Record<string, LoginProvider>> = {
  openrouter: {
    account: "OpenRouter",
    permits: "yes",
    notice:
      "OpenRouter permits this login for any program: it makes an API key of your account, which you can delete there.",
    load: async () => flowOf((await import("@earendil-works/pi-ai/providers/openrouter")).openrouterProvider()),
  },
  "openai-codex": {
    account: "ChatGPT Plus or Pro",
    permits: "unknown",
    notice: ownClient("OpenAI", "Codex"),
    load: async () => flowOf((await import("@earendil-works/pi-ai/providers/openai-codex")).openaiCodexProvider()),
  },
  xai: {
    account: "SuperGrok or X Premium",
    permits: "unknown",
    notice: ownClient("xAI", "the Grok command line"),
    load: async () => flowOf((await import("@earendil-works/pi-ai/providers/xai")).xaiProvider()),
  },
  "kimi-coding": {
    account: "Kimi Code",
    permits: "unknown",
    notice: ownClient("Moonshot AI", "Kimi Code"),
    load: async () => flowOf((await import("@earendil-works/pi-ai/providers/kimi-coding")).kimiCodingProvider()),
  },
  meta: {
    account: "Meta (Muse)",
    permits: "unknown",
    notice: ownClient("Meta", "Muse Code"),
    load: async () => flowOf((await import("@earendil-works/pi-ai/providers/meta")).metaProvider()),
  },
  radius: {
    account: "Radius",
    permits: "unknown",
    notice: ownClient("Radius", "pi"),
    load: async () => flowOf((await import("@earendil-works/pi-ai/providers/radius")).radiusProvider()),
  },
  anthropic: {
    account: "Claude Pro or Max",
    permits: "no",
    notice:
      'Anthropic does not permit other programs to use the login of a Claude subscription. Set an API key with `rookery models keys add anthropic`, or use the `claude` program as a model (api: "cli").',
  },
  "github-copilot": {
    account: "GitHub Copilot",
    permits: "no",
    notice:
      'GitHub permits Copilot\'s login only to its own clients: another program would have to send the name of one of them. Use the `copilot` program as a model (api: "cli"), or the key of another provider.',
  },
};

export const loginProvider = (name: string): LoginProvider | undefined =>
  Object.hasOwn(LOGIN_PROVIDERS, name) ? LOGIN_PROVIDERS[name] : undefined;

function flowOf({ auth }: { readonly auth: { readonly oauth?: OAuthAuth } }): LoginFlow {
  if (!auth.oauth) throw new TypeError("this provider of the library has no login");
  return auth.oauth;
}
