/**
 * Logs a person in to a provider: shows an address or a code, waits until the person has confirmed it there, and stores the
 * tokens. It needs no browser on this machine: a code that the browser shows can be pasted.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { AuthEvent, AuthPrompt } from "@earendil-works/pi-ai";
import { closestWord } from "../../../core/closest-word.ts";
import { DeniedError, InvalidInputError, NotFoundError, ProviderUnavailableError } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import { loginFailure } from "./login-failure.ts";
import { checkCredential, type Login, loginIn, readLogins, writeLogin } from "./login-file.ts";
import { lockLogins } from "./login-lock.ts";
import { LOGIN_PROVIDERS, type LoginFlow, type LoginProvider, loginProvider } from "./login-providers.ts";

/** How a login talks with the person. */
export interface LoginDialog {
  say(text: string): void;
  /** A line that the person types or pastes. Resolves when the signal aborts, too: the answer is not needed then. */
  ask(question: string, signal: AbortSignal): Promise<string>;
  /** After the notice of a provider that has not said whether it permits this: whether to go on. */
  confirm(notice: string): Promise<boolean>;
}

export interface LoginWish {
  readonly provider: string;
  readonly profile: string;
  /** Where a provider offers both. A code works everywhere. */
  readonly method: "browser" | "code";
}

interface LoginDeps {
  /** `logins.json` of the home. */
  readonly file: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The provider by name. Throws a `NotFoundError` with the closest name. */
export function knownLogin(name: string): LoginProvider {
  const known = loginProvider(name);
  if (known) return known;
  const near = closestWord(name, Object.keys(LOGIN_PROVIDERS));
  throw new NotFoundError(`There is no login for "${name}".${near === undefined ? "" : ` Did you mean "${near}"?`}`, {
    hint: `Logins: ${Object.keys(LOGIN_PROVIDERS).join(", ")}. For a key, run \`rookery models keys add ${near ?? "PROVIDER"}\`.`,
  });
}

/**
 * Resolves when the tokens are durable. Says first whether the provider permits other programs; one that does not is refused with a
 * `DeniedError`.
 */
export async function logIn(deps: LoginDeps, wish: LoginWish, dialog: LoginDialog): Promise<Login> {
  const { provider, profile } = wish;
  const known = knownLogin(provider);
  if (!known.load) throw new DeniedError(known.notice);
  dialog.say(known.notice);
  if (known.permits !== "yes" && !(await dialog.confirm("Log in all the same?"))) {
    throw new DeniedError("Nothing was changed.", {
      hint: "Answer yes, or give --accept, if you have read what it says above.",
    });
  }
  const flow = await known.load();
  const credential = await run(flow, deps, wish, dialog);
  const auth = await flow.toAuth(credential);
  const login: Login = {
    id: randomUUID(),
    seal: randomBytes(32).toString("base64"),
    loggedInAt: deps.clock.now(),
    renewals: 0,
    credential,
    auth: auth as Login["auth"],
  };
  await change(deps, () => writeLogin(deps.file, provider, profile, login));
  return login;
}

/** Removes the tokens from this home. False if there were none. The provider is not told. */
export async function logOut(deps: Pick<LoginDeps, "file" | "clock">, provider: string, profile: string) {
  return change(deps, () => {
    const found = loginIn(readLogins(deps.file), provider, profile) !== undefined;
    if (found) writeLogin(deps.file, provider, profile, undefined);
    return found;
  });
}

/** A refresh of another process must not write over it. */
async function change<T>({ file, clock }: Pick<LoginDeps, "file" | "clock">, write: () => T): Promise<T> {
  const unlock = await lockLogins(file, clock);
  try {
    return write();
  } finally {
    unlock();
  }
}

async function run(flow: LoginFlow, { signal }: LoginDeps, wish: LoginWish, dialog: LoginDialog) {
  try {
    const credential = await flow.login({
      signal,
      notify: (event) => tell(event, dialog),
      prompt: (prompt) => answer(prompt, signal, wish, dialog),
    });
    return checkCredential(credential);
  } catch (error) {
    throw explained(error, wish.provider);
  }
}

function tell(event: AuthEvent, { say }: LoginDialog): void {
  const open = "Open this address in a browser, on this machine or on another one:";
  if (event.type === "auth_url") say(`${open}\n\n  ${event.url}\n`);
  if (event.type !== "device_code") return;
  const minutes = Math.max(1, Math.round((event.expiresInSeconds ?? 900) / 60));
  say(`${open}\n\n  ${event.verificationUri}\n\nand enter the code ${event.userCode} (valid for ${minutes} minutes).`);
}

async function answer(
  prompt: AuthPrompt,
  signal: AbortSignal,
  { method }: LoginWish,
  { ask }: LoginDialog,
): Promise<string> {
  switch (prompt.type) {
    case "select": {
      const code = prompt.options.find(({ id }) => id.includes("device"));
      const other = prompt.options.find((option) => option !== code);
      return (method === "code" ? (code ?? other) : (other ?? code))?.id ?? "";
    }
    case "manual_code": {
      const both = prompt.signal ? AbortSignal.any([signal, prompt.signal]) : signal;
      return ask(
        "If the browser then shows a code or an address that does not load, paste it here and press Enter:",
        both,
      );
    }
    case "text":
    case "secret":
      return ask(prompt.message, prompt.signal ?? signal);
  }
}

/** In our own words: the library's text may quote tokens. */
function explained(error: unknown, provider: string): Error {
  const { kind, detail } = loginFailure(error);
  const again = `Run \`rookery models login ${provider}\` to try again.`;
  const what = detail ? ` (${detail})` : "";
  switch (kind) {
    case "cancelled":
      return new InvalidInputError("The login was cancelled. Nothing was changed.");
    case "denied":
      return new DeniedError(`The login at ${provider} was denied${what}. Nothing was changed.`, { hint: again });
    case "expired":
      return new DeniedError(`The login at ${provider} was not confirmed in time. Nothing was changed.`, {
        hint: again,
      });
    case "refused":
      return new DeniedError(`${provider} refused the login${what}. Nothing was changed.`, { hint: again });
    case "failed":
      return new ProviderUnavailableError(`The login at ${provider} failed${what}. Nothing was changed.`, {
        hint: again,
      });
  }
}
