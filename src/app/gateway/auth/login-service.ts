/**
 * Invitations, the sign-in codes of the owner, and the logins they become. A change is one commit with its row of the audit log; an invitation is used once, also
 * by two requests at the same moment and with a kill in between. Nodes that share a store read the records again.
 */
import { ConflictError, errorText } from "../../../core/errors.ts";
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { Op } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { type Actor, auditOp } from "../../../engine/people/audit-entry.ts";
import {
  exchanged,
  findInvitation,
  findLogin,
  freshInvitation,
  LOGINS_FACT,
  type Login,
  type LoginRecords,
  loginSecret,
  parseLogins,
  storedLogins,
  withInvitation,
  withoutPerson,
} from "./login-records.ts";
import { LOGIN_PREFIX, type Principal } from "./principal.ts";

type ShownLogin = Omit<Login, "hash">;

interface LoginOptions {
  readonly ports: Pick<Ports, "store" | "ids" | "clock" | "log">;
  /** Whether other nodes change the records too. */
  readonly isShared: boolean;
  /** How long a login lasts. Read at each use. */
  readonly loginMs: () => number;
}

const HOUR_MS = 3_600_000;
const INVITATION_MS = 24 * HOUR_MS;
/** How long a sign-in code of the owner works. */
const CODE_MS = 60_000;
/** How long a page that lost the answer may ask again. */
const REPEAT_MS = 10 * 60_000;
const MAX_TRIES = 20;
const REFRESH_MS = 500;

export class LoginService {
  readonly #options: LoginOptions;
  readonly #listeners = new Set<(ids: readonly string[]) => void>();
  #records: LoginRecords = { invitations: [], logins: [] };
  #readAt = Number.NEGATIVE_INFINITY;

  private constructor(options: LoginOptions) {
    this.#options = options;
  }

  static async open(options: LoginOptions): Promise<LoginService> {
    const service = new LoginService(options);
    await service.reload();
    return service;
  }

  /** The principal of a login's secret; undefined if it is unknown, ended or expired. */
  async find(secret: string): Promise<Principal | undefined> {
    if (!findLogin(this.#records, secret)) await this.#refresh();
    const login = findLogin(this.#records, secret);
    if (!login || !this.#isCurrent(login)) return undefined;
    return (await this.#mayLogIn(login.person)) ? principalOf(login) : undefined;
  }

  /** Whether the login of a principal is still there. True for principals without a login. */
  stillValid({ id }: Principal): boolean {
    if (!id.startsWith(LOGIN_PREFIX)) return true;
    const login = this.#records.logins.find((one) => LOGIN_PREFIX + one.id === id);
    return login !== undefined && this.#isCurrent(login);
  }

  /** The ops that store a new invitation, and its secret. They are refused if the records have changed since. */
  async inviting(by: Actor, person: string): Promise<{ secret: string; expiresAt: number; ops: readonly Op[] }> {
    const now = this.#options.ports.clock.now();
    const { id, text: secret, hash } = freshInvitation();
    const expiresAt = now + INVITATION_MS;
    const invitation = { id, hash, person, createdAt: now, expiresAt };
    const put = await this.#putOp((records) => withInvitation(records, invitation, now));
    const row = auditOp(by, now, { action: "person.invite", target: person });
    return { secret, expiresAt, ops: [put, row] };
  }

  /** Makes a code that signs the owner in once, within a minute. Durable when it resolves; `also` is committed with it. */
  async code(by: Actor, also: readonly Op[] = []): Promise<{ code: string; expiresAt: number }> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const now = this.#options.ports.clock.now();
      const { id, text: code, hash } = freshInvitation();
      const expiresAt = now + CODE_MS;
      const invitation = { id, hash, person: OWNER_ID, createdAt: now, expiresAt };
      const put = await this.#putOp((records) => withInvitation(records, invitation, now));
      const row = auditOp(by, now, { action: "login.code", target: OWNER_ID });
      if (await this.#commit("login.code", [put, row, ...also])) return { code, expiresAt };
    }
    throw crowded();
  }

  /** Who a secret invites; undefined if it was used or has expired. A code of the owner is no invitation. */
  async invited(secret: string): Promise<string | undefined> {
    await this.reload();
    const invitation = findInvitation(this.#records, secret);
    if (!invitation || invitation.person === OWNER_ID) return undefined;
    return invitation.expiresAt > this.#options.ports.clock.now() ? invitation.person : undefined;
  }

  /**
   * Uses an invitation, or a code of the owner: durable when it resolves. Undefined if it was used with another nonce, has
   * expired, is of the other kind, or its person is gone. `isRepeated`: it was used with this nonce a moment ago, and the same login is returned.
   */
  async exchange(
    invitation: string,
    nonce: string,
    browser: string | undefined,
    kind: "invite" | "code" = "invite",
  ): Promise<{ secret: string; login: ShownLogin; isRepeated: boolean } | undefined> {
    const { ports, loginMs } = this.#options;
    const { id, text: secret, hash } = loginSecret(invitation, nonce);
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const now = ports.clock.now();
      const before = await ports.store.fact(LOGINS_FACT);
      const records = parseLogins(before);
      const used = findInvitation(records, invitation);
      if (!used || used.expiresAt <= now) {
        const login = findLogin(records, secret);
        const isLate = login === undefined || now - login.createdAt > REPEAT_MS || !this.#isCurrent(login);
        return isLate ? undefined : { secret, login: shown(login), isRepeated: true };
      }
      if ((used.person === OWNER_ID) !== (kind === "code") || !(await this.#mayLogIn(used.person))) return undefined;
      const login = { id, hash, person: used.person, createdAt: now, expiresAt: now + loginMs(), browser };
      const by = { person: used.person, surface: kind, token: LOGIN_PREFIX + id };
      const done = await this.#commit("login.begin", [
        putOf(exchanged(records, used, login, now), before),
        auditOp(by, now, { action: "login.begin", target: used.person }),
      ]);
      if (done) return { secret, login: shown(login), isRepeated: false };
    }
    throw crowded();
  }

  /** Those of one person, or of all. */
  async list(person?: string): Promise<readonly ShownLogin[]> {
    await this.reload();
    const { logins } = this.#records;
    return logins
      .filter((one) => (person === undefined || one.person === person) && this.#isCurrent(one))
      .map((one) => ({ ...shown(one), expiresAt: this.#endOf(one) }));
  }

  /** Ends one login, and its streams. Undefined if there is none with this id, or it belongs to another than `of`. */
  async end(by: Actor, id: string, of?: string): Promise<ShownLogin | undefined> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const now = this.#options.ports.clock.now();
      const before = await this.#options.ports.store.fact(LOGINS_FACT);
      const records = parseLogins(before);
      const login = records.logins.find((one) => one.id === id && (of === undefined || one.person === of));
      if (!login) return undefined;
      const next = { ...records, logins: records.logins.filter((one) => one !== login) };
      const row = auditOp(by, now, { action: "login.end", target: `${login.person} ${id}` });
      if (await this.#commit("login.end", [putOf(next, before), row])) return shown(login);
    }
    throw crowded();
  }

  /** The op that ends everything of a person. Call `reload` after its commit. */
  ending = (person: string): Promise<Op> => this.#putOp((records) => withoutPerson(records, person));

  /** Ends the logins and invitations of people. Durable when it resolves. */
  async endAll(people: readonly string[]): Promise<void> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const before = await this.#options.ports.store.fact(LOGINS_FACT);
      if (before === undefined) return;
      const next = people.reduce(withoutPerson, parseLogins(before));
      if (storedLogins(next) === before) return;
      if (await this.#commit("login.end", [putOf(next, before)])) return;
    }
    throw crowded();
  }

  /** Calls the listener with the ids of principals whose login ended. Returns a function that unsubscribes. */
  onEnded(listener: (ids: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the records again. Must not reject: on an error the known ones stay valid. */
  async reload(): Promise<void> {
    const { ports } = this.#options;
    this.#readAt = ports.clock.monotonic();
    try {
      const before = this.#records.logins;
      this.#records = parseLogins(await ports.store.fact(LOGINS_FACT));
      const left = new Set(this.#records.logins.map(({ id }) => id));
      const ended = before.flatMap(({ id }) => (left.has(id) ? [] : [LOGIN_PREFIX + id]));
      if (ended.length > 0) for (const listener of this.#listeners) listener(ended);
    } catch (error) {
      ports.log.error(errorText(error));
    }
  }

  /** A person who is gone, or no longer a guest, has no login. */
  async #mayLogIn(person: string): Promise<boolean> {
    return person === OWNER_ID || (await this.#options.ports.store.person(person))?.role === "guest";
  }

  /** Another node may just have made a login. */
  async #refresh(): Promise<void> {
    const { isShared, ports } = this.#options;
    if (isShared && ports.clock.monotonic() - this.#readAt >= REFRESH_MS) await this.reload();
  }

  async #putOp(change: (records: LoginRecords) => LoginRecords): Promise<Op> {
    const before = await this.#options.ports.store.fact(LOGINS_FACT);
    return putOf(change(parseLogins(before)), before);
  }

  /** False if someone else changed the records. */
  async #commit(site: CommitSite, ops: readonly Op[]): Promise<boolean> {
    const { ok } = await submit(this.#options.ports, site, ops);
    if (ok) await this.reload();
    return ok;
  }

  #endOf = ({ createdAt, expiresAt }: Login): number => Math.min(expiresAt, createdAt + this.#options.loginMs());
  #isCurrent = (login: Login): boolean => this.#endOf(login) > this.#options.ports.clock.now();
}

const putOf = (records: LoginRecords, before: string | undefined): Op => ({
  op: "fact.put",
  key: LOGINS_FACT,
  value: storedLogins(records),
  expect: before ?? null,
});

const principalOf = ({ id, person }: Login): Principal => ({
  id: LOGIN_PREFIX + id,
  name: `a login of ${person}`,
  kind: person === OWNER_ID ? "owner" : "person",
  person: person as PersonId,
  scopes: [person === OWNER_ID ? "admin" : "chat"],
});

const shown = ({ hash: _, ...rest }: Login): ShownLogin => rest;

const crowded = (): ConflictError =>
  new ConflictError("Other requests keep changing the logins.", { hint: "Try again." });
