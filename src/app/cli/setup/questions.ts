/** The questions of `rookery setup`. What a flag answers is not asked. Without a terminal nothing is asked. */
import { KNOWN_PROVIDERS } from "../../../config/known-providers.ts";
import { UsageError } from "../../../core/errors.ts";
import { loadPrompts, type Prompts } from "../prompts.ts";
import { type Channel, limitOf, nameOf, type SetupAnswers, zoneOf } from "./options.ts";

/** What is there already: the answers to choose if the person presses Enter. */
export interface SetupDefaults {
  readonly model: string;
  readonly name: string | undefined;
  readonly timeZone: string;
  readonly dailyLimit: number | undefined;
  readonly hasBriefing: boolean;
  /** The providers that a person can log in to, with the account that is needed. */
  readonly logins: readonly { readonly provider: string; readonly account: string }[];
  readonly isConnected: boolean;
  readonly hasService: boolean;
}

/** Throws a `UsageError` if the person cancels: nothing is changed then. */
class Asker {
  readonly #prompts: Prompts;

  constructor(prompts: Prompts) {
    this.#prompts = prompts;
  }

  async text(message: string, initialValue: string, read: (text: string) => unknown): Promise<string> {
    const validate = (text: string | undefined): string | undefined => {
      try {
        read(text ?? "");
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    };
    return this.#checked(await this.#prompts.text({ message, initialValue, validate }));
  }

  async secret(message: string): Promise<string> {
    return this.#checked(await this.#prompts.password({ message })) ?? "";
  }

  async choose<T extends string>(message: string, options: readonly { value: T; label: string }[]): Promise<T> {
    return this.#checked(await this.#prompts.select<string>({ message, options: [...options] })) as T;
  }

  async confirm(message: string): Promise<boolean> {
    const options = [{ value: "no", label: "No" } as const, { value: "yes", label: "Yes" } as const];
    return (await this.choose(message, options)) === "yes";
  }

  #checked<T>(value: T): Exclude<T, symbol> {
    if (this.#prompts.isCancel(value)) throw new UsageError("Cancelled. Nothing was changed.");
    return value as Exclude<T, symbol>;
  }
}

/** Asks what the flags leave open. */
export async function askQuestions(given: SetupAnswers, defaults: SetupDefaults): Promise<SetupAnswers> {
  const asker = new Asker(await loadPrompts());
  const model = await askModel(asker, given, defaults);
  const name = given.name ?? nameOf(await asker.text("What shall it call you?", defaults.name ?? "", nameOf));
  const timeZone = given.timeZone ?? zoneOf(await asker.text("Your time zone?", defaults.timeZone, zoneOf));
  const limit = String(defaults.dailyLimit ?? 0);
  const dailyLimit =
    given.dailyLimit ??
    limitOf(await asker.text("The most that models may cost per day, in dollars? (0: no limit)", limit, limitOf));
  const briefing = given.briefing ?? (await askBriefing(asker, defaults));
  const channel = given.channel ?? (await askChannel(asker, defaults));
  const service = given.service ?? (await askService(asker, defaults));
  return { ...given, ...model, name, timeZone, dailyLimit, briefing, channel, service };
}

type ModelAnswers = Pick<SetupAnswers, "provider" | "key" | "login" | "model">;

async function askModel(asker: Asker, given: SetupAnswers, { model, logins }: SetupDefaults): Promise<ModelAnswers> {
  const { provider } = given;
  if (given.login !== undefined || (given.model !== undefined && provider === undefined)) return {};
  if (provider !== undefined) return askKey(asker, provider);
  const withKeys = Object.keys(KNOWN_PROVIDERS).filter((name) => !KNOWN_PROVIDERS[name]?.loginOnly);
  const keys = withKeys.map((name) => ({ value: `key ${name}`, label: `a key of ${name}` }));
  const accounts = logins.map((one) => ({ value: `login ${one.provider}`, label: `a login: ${one.account}` }));
  const keep = { value: "keep", label: `keep ${model}` };
  const chosen = await asker.choose("Which model answers?", [keep, ...keys, ...accounts]);
  const [how, who = ""] = chosen.split(" ");
  if (how === "keep") return {};
  return how === "login" ? { login: who } : askKey(asker, who);
}

async function askKey(asker: Asker, provider: string): Promise<ModelAnswers> {
  const key = await asker.secret(`Key of ${provider} (not shown; empty keeps the stored one)`);
  return { provider, key: key.trim() || undefined };
}

async function askBriefing(asker: Asker, { hasBriefing }: SetupDefaults): Promise<string | undefined> {
  if (hasBriefing) return undefined;
  const wants = await asker.confirm("A short briefing every morning at 08:00? It is an ordinary job.");
  return wants ? "08:00" : "none";
}

/** What is connected stays. */
async function askChannel(asker: Asker, { isConnected }: SetupDefaults): Promise<Channel | undefined> {
  if (isConnected) return undefined;
  return asker.choose<Channel>("Talk to it from your phone?", [
    { value: "none", label: "not now" },
    { value: "telegram", label: "Telegram: a bot of yours" },
  ]);
}

async function askService(asker: Asker, { hasService }: SetupDefaults): Promise<boolean | undefined> {
  if (hasService) return undefined;
  return asker.confirm("Keep it running in the background, also after you log in again? It is a service of yours.");
}
