/**
 * The logins of a home, with tokens that are refreshed before they expire. One process refreshes at a time (`login-lock.ts`), of
 * several nodes one (`shared-logins.ts`), and it looks for newer tokens first. New tokens are durable before they are used.
 */
import type { OAuthCredential } from "@earendil-works/pi-ai";
import { errorText } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import { refusalPauseMs } from "../refusal-pause.ts";
import { endsLogin, loginFailure } from "./login-failure.ts";
import {
  checkCredential,
  type Login,
  type LoginsByProvider,
  loginIn,
  loginsIn,
  readLogins,
  writeLogin,
} from "./login-file.ts";
import { lockLogins } from "./login-lock.ts";
import { type LoginFlow, loginProvider } from "./login-providers.ts";
import type { SharedLogins } from "./shared-logins.ts";

interface LoginsDeps {
  /** `logins.json` of the home. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Log;
  /** For nodes that share a store. */
  readonly shared?: SharedLogins;
  /** Default: the library's flow. */
  readonly flowOf?: (provider: string) => Promise<LoginFlow | undefined>;
}

/** Why a login has no usable token. `again`: the person must log in again; else a later try may work. */
export interface LoginProblem {
  readonly profile: string;
  readonly again: boolean;
  readonly message: string;
}

/** Tokens are refreshed when they expire sooner than this. */
const REFRESH_BEFORE_MS = 300_000;
const REFRESH_MS = 30_000;
/** How often an ended login is looked up in the shared store: another node may have newer tokens. */
const LOOK_AGAIN_MS = 30_000;
const STATUS_ONLY = /^\d{3}(?:, \d{3}){0,2}$/u;

const libraryFlow = async (provider: string): Promise<LoginFlow | undefined> => loginProvider(provider)?.load?.();

export class Logins {
  readonly #deps: LoginsDeps;
  readonly #read: () => LoginsByProvider;
  readonly #refreshing = new Map<string, Promise<LoginProblem | undefined>>();
  /** Logins with tokens that the shared store does not have yet. */
  readonly #unshared = new Set<string>();
  readonly #lookedAt = new Map<string, number>();

  constructor(deps: LoginsDeps) {
    this.#deps = deps;
    this.#read = loginsIn(deps.file, (error) => deps.log.warn(errorText(error)));
  }

  all(): LoginsByProvider {
    return this.#read();
  }

  of(provider: string): Readonly<Record<string, Login>> {
    const all = this.#read();
    return Object.hasOwn(all, provider) ? (all[provider] ?? {}) : {};
  }

  /** Refreshes the tokens of a provider that soon expire. Resolves with what went wrong. */
  async refresh(provider: string): Promise<readonly LoginProblem[]> {
    const problems = await Promise.all(
      Object.entries(this.of(provider)).map(([profile, login]) =>
        this.#isDue(login) ? this.#once(provider, profile, (current) => this.#expiresSoon(current)) : undefined,
      ),
    );
    return problems.filter((problem) => problem !== undefined);
  }

  /** The provider refused a token before its time. True if there is another one now. */
  async replace(provider: string, profile: string, refused: string): Promise<boolean> {
    await this.#once(provider, profile, ({ credential, ended }) => !ended && credential.access === refused);
    const login = loginIn(this.#read(), provider, profile);
    return login !== undefined && !login.ended && login.credential.access !== refused;
  }

  #isDue({ credential, ended, id }: Login): boolean {
    if ((!ended || this.#mayRetry(ended)) && this.#expiresSoon({ credential })) return true;
    return (ended !== undefined && this.#deps.shared !== undefined) || this.#unshared.has(id)
      ? this.#mayLook(id)
      : false;
  }

  #expiresSoon({ credential }: Pick<Login, "credential">): boolean {
    return credential.expires - this.#deps.clock.now() < REFRESH_BEFORE_MS;
  }

  /** A status without a reason may have been temporary. An OAuth error is final: its refresh token must not be sent again. */
  #mayRetry({ at, why, refusals = 1 }: NonNullable<Login["ended"]>): boolean {
    return STATUS_ONLY.test(why) && this.#deps.clock.now() - at >= refusalPauseMs(refusals);
  }

  #mayLook(id: string): boolean {
    const last = this.#lookedAt.get(id) ?? Number.NEGATIVE_INFINITY;
    return this.#deps.clock.monotonic() - last > LOOK_AGAIN_MS;
  }

  /** One refresh of a login at a time; calls that come meanwhile get its outcome. */
  #once(provider: string, profile: string, isDue: (login: Login) => boolean): Promise<LoginProblem | undefined> {
    const name = `${provider}\n${profile}`;
    const under = this.#refreshing.get(name);
    if (under) return under;
    const made = this.#locked(provider, profile, isDue)
      .catch((error: unknown) => this.#problem(provider, profile, error))
      .finally(() => this.#refreshing.delete(name));
    this.#refreshing.set(name, made);
    return made;
  }

  async #locked(
    provider: string,
    profile: string,
    isDue: (login: Login) => boolean,
  ): Promise<LoginProblem | undefined> {
    const { file, clock, shared } = this.#deps;
    const unlock = await lockLogins(file, clock);
    try {
      const login = loginIn(readLogins(file), provider, profile);
      if (!login) return undefined;
      const release = await shared?.hold(login.id);
      try {
        return await this.#refreshHeld(provider, profile, login, isDue);
      } finally {
        await release?.().catch(() => undefined);
      }
    } finally {
      unlock();
    }
  }

  /** Both locks are held. Looks for newer tokens first: whoever held the locks before may have refreshed. */
  async #refreshHeld(
    provider: string,
    profile: string,
    stored: Login,
    isDue: (login: Login) => boolean,
  ): Promise<LoginProblem | undefined> {
    const { clock } = this.#deps;
    this.#lookedAt.set(stored.id, clock.monotonic());
    const login = await this.#adopt(provider, profile, stored);
    if (this.#unshared.has(login.id)) await this.#share(provider, login);
    if (login.ended && !this.#mayRetry(login.ended)) return ended(provider, profile);
    if (!isDue(login)) return undefined;
    const flow = await (this.#deps.flowOf ?? libraryFlow)(provider);
    if (!flow) return ended(provider, profile);
    let credential: OAuthCredential;
    try {
      const own = { ...login.credential, type: "oauth" } as OAuthCredential;
      credential = checkCredential(await flow.refresh(own, AbortSignal.timeout(REFRESH_MS)));
    } catch (error) {
      if (!endsLogin(error)) throw error;
      // A node whose lease broke may have refreshed at the same time.
      const other = await this.#adopt(provider, profile, login);
      if (other.renewals > login.renewals && !other.ended) return undefined;
      const refusals = (login.ended?.refusals ?? 0) + 1;
      const why = loginFailure(error).detail;
      this.#save(provider, profile, { ...login, ended: { at: clock.now(), why, refusals } });
      return ended(provider, profile);
    }
    const auth = await flow.toAuth(credential);
    const { ended: _, ...lives } = login;
    const next = { ...lives, credential, auth: auth as Login["auth"], renewals: login.renewals + 1 };
    // The store first: a process that dies in between finds them there.
    await this.#share(provider, next);
    this.#save(provider, profile, next);
    return undefined;
  }

  async #adopt(provider: string, profile: string, login: Login): Promise<Login> {
    const newer = await this.#deps.shared?.newer(login);
    if (!newer) return login;
    const { ended: _, ...adopted } = newer;
    this.#save(provider, profile, adopted);
    return adopted;
  }

  #save(provider: string, profile: string, login: Login): void {
    writeLogin(this.#deps.file, provider, profile, login);
  }

  /** Tokens that the store could not take are used here, and offered again later. */
  async #share(provider: string, login: Login): Promise<void> {
    try {
      await this.#deps.shared?.put(login);
      this.#unshared.delete(login.id);
    } catch (error) {
      this.#unshared.add(login.id);
      const fields = { provider, error: errorText(error) };
      this.#deps.log.warn("the new tokens of a login could not be handed to the other nodes", fields);
    }
  }

  #problem(provider: string, profile: string, error: unknown): LoginProblem {
    const { detail } = loginFailure(error);
    this.#deps.log.warn("the tokens of a login were not refreshed", { provider, profile, detail });
    const message = `The login of ${provider} could not be refreshed${detail ? ` (${detail})` : ""}.`;
    return { profile, again: false, message };
  }
}

const ended = (provider: string, profile: string): LoginProblem => ({
  profile,
  again: true,
  message: `${provider} no longer accepts the login. Log in again with \`rookery models login ${provider}${
    profile === "default" ? "" : ` --profile ${profile}`
  }\`.`,
});
