/**
 * The tokens that are valid here. A token mints tokens with at most its own scopes, lifetime and limits; revoking it
 * revokes those too and closes their streams. `rookery people tokens` and other nodes may change the records while this process
 * runs, so they are read again.
 */
import { DeniedError, errorText, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { accountOf, OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import type { Log } from "../../../core/ports/log.ts";
import { holds, SCOPES, type Scope, within } from "../../../core/rights/scope.ts";
import { HttpError, keyReused } from "../http/http-error.ts";
import { kindToMint } from "./mint-kind.ts";
import { assertMayMint, lineageOf } from "./minting-bounds.ts";
import { type Principal, ROOT, type UsageLimits } from "./principal.ts";
import { freshToken, hashOf, MAX_TOKEN, sameHash, tokenId } from "./token.ts";
import type { TokenRecord } from "./token-file.ts";
import type { TokenStorage } from "./token-storage.ts";

interface MintRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresInDays?: number;
  /** The person it belongs to. */
  readonly person?: string;
  /** The application it belongs to. Default for a token with the scope chat: one of the token's name. */
  readonly app?: string;
  readonly limits?: UsageLimits;
}

/** A token without its hash. */
export type ShownToken = Pick<
  TokenRecord,
  "id" | "name" | "kind" | "scopes" | "createdAt" | "createdBy" | "expiresAt" | "person" | "app" | "limits"
>;

interface TokenServiceOptions {
  readonly storage: TokenStorage;
  /** The home's own token; absent for a process that only edits the records. */
  readonly root?: string;
  readonly now: () => number;
  readonly log: Log;
}

/** How long the records in memory are used before the storage is read again. */
const REFRESH_MS = 500;
const DAY_MS = 24 * 3600_000;
/** How long the record of an expired token stays, so that a request that minted it can still be recognised. */
const EXPIRED_KEPT_MS = 7 * DAY_MS;

export const ROOT_PRINCIPAL: Principal = {
  id: ROOT,
  name: "the home's own token",
  kind: "owner",
  person: OWNER_ID,
  scopes: ["admin"],
};

export class TokenService {
  readonly #options: TokenServiceOptions;
  readonly #root: Buffer | undefined;
  readonly #listeners = new Set<(ids: readonly string[]) => void>();
  #tokens = new Map<string, { readonly record: TokenRecord; readonly hash: Buffer; readonly principal: Principal }>();
  #readAt = Number.NEGATIVE_INFINITY;

  private constructor(options: TokenServiceOptions) {
    this.#options = options;
    this.#root = options.root === undefined ? undefined : hashOf(options.root);
  }

  /** Rejects with `ConfigError` if there are records and they are unreadable. */
  static async open(options: TokenServiceOptions): Promise<TokenService> {
    const service = new TokenService(options);
    service.#replace((await options.storage.readIfChanged()) ?? []);
    return service;
  }

  /** The principal of a token; undefined if the token is unknown, expired or revoked. */
  find(text: string): Principal | undefined {
    this.#refresh();
    const hash = hashOf(text.slice(0, MAX_TOKEN + 1));
    const isRoot = this.#root !== undefined && sameHash(hash, this.#root);
    const known = this.#tokens.get(tokenId(text) ?? "");
    const isKnown = sameHash(hash, known?.hash ?? Buffer.alloc(hash.length));
    if (isRoot) return ROOT_PRINCIPAL;
    return known && isKnown && this.#isCurrent(known.record) ? known.principal : undefined;
  }

  /** Whether the token of a principal is still valid. */
  stillValid({ id }: Principal): boolean {
    if (id === ROOT) return true;
    this.#refresh();
    const known = this.#tokens.get(id);
    return known !== undefined && this.#isCurrent(known.record);
  }

  /**
   * Durable when it resolves. The token is returned here once; only its hash is stored. `keyed`: an `Idempotency-Key`, stored
   * with the record in the same write, so that a second token is never minted with it.
   */
  async mint(
    by: Principal,
    request: MintRequest,
    keyed?: { readonly key: string; readonly digest: string },
  ): Promise<{ readonly token: string; readonly record: ShownToken }> {
    if (request.scopes.length === 0) throw new InvalidInputError("A token needs at least one scope.");
    if (!within(by.scopes, request.scopes)) {
      throw new DeniedError(
        `A token with the scopes ${by.scopes.join(", ")} cannot grant ${request.scopes.join(", ")}.`,
        {
          hint: "A token can only grant scopes that it has.",
        },
      );
    }
    const at = this.#options.now();
    const { id, text, hash } = freshToken();
    const own = by.id === ROOT ? undefined : this.#tokens.get(by.id)?.record;
    const wanted = request.expiresInDays === undefined ? undefined : Math.round(at + request.expiresInDays * DAY_MS);
    // A minted token never outlives its minter and never has higher limits.
    const expiresAt = smaller(wanted, own?.expiresAt);
    const limits = stricter(request.limits, own?.limits);
    const fresh: TokenRecord = {
      id,
      name: request.name,
      scopes: SCOPES.filter((scope) => request.scopes.includes(scope)),
      hash,
      createdAt: at,
      createdBy: by.id,
      expiresAt,
      limits,
      request: keyed && { key: keyed.key, digest: keyed.digest },
    };
    let record = fresh;
    const tokens = await this.#options.storage.change((known) => {
      // Checked inside the change: another process may have revoked the minter since.
      if (by.id !== ROOT && !known.some((token) => token.id === by.id)) {
        throw new DeniedError("This token was revoked.");
      }
      const before = keyed && known.find((token) => token.request?.key === keyed.key);
      if (before) throw before.request?.digest === keyed.digest ? alreadyMinted(before.id) : keyReused();
      assertMayMint(by.id, known, at);
      record = { ...fresh, ...kindToMint(by, request, known, id) };
      return [...known.filter(({ expiresAt = at }) => expiresAt > at - EXPIRED_KEPT_MS), record];
    });
    this.#replace(tokens);
    return { token: text, record: shown(record) };
  }

  /** Revokes a token and every token minted with it. Returns the ids of all of them. Durable when it resolves. */
  async revoke(by: Principal, id: string): Promise<readonly string[]> {
    await this.reload();
    const known = this.#tokens.get(id);
    if (!known || !this.#maySee(by, known.record)) {
      throw new NotFoundError(`There is no token ${id}.`, {
        hint: "Run `rookery people tokens list` to see the tokens.",
      });
    }
    let revoked = new Set([id]);
    this.#replace(
      await this.#options.storage.change((tokens) => {
        revoked = new Set([id]);
        for (let size = 0; size !== revoked.size; ) {
          size = revoked.size;
          for (const token of tokens) if (revoked.has(token.createdBy)) revoked.add(token.id);
        }
        return tokens.filter((token) => !revoked.has(token.id));
      }),
    );
    return [...revoked];
  }

  /** An admin sees all tokens; another token sees itself and those minted with it. */
  list(by: Principal): readonly ShownToken[] {
    this.#refresh();
    return [...this.#tokens.values()].flatMap(({ record }) => (this.#maySee(by, record) ? [shown(record)] : []));
  }

  /** Calls the listener with the ids of revoked tokens. Returns a function that unsubscribes. */
  onRevoked(listener: (ids: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the storage again if it can be read without waiting. Must not throw: on an error the known tokens stay valid. */
  #refresh(): void {
    const { storage, log } = this.#options;
    if (!storage.readIfChangedSync || this.#wasReadRecently()) return;
    this.#readAt = this.#options.now();
    try {
      const tokens = storage.readIfChangedSync();
      if (tokens) this.#replace(tokens);
    } catch (error) {
      log.error(errorText(error));
    }
  }

  /**
   * Call before `find`: another node may just have minted an unknown token, so the shared records are read again, at most
   * every half second. Undefined if there is nothing to wait for.
   */
  loadUnknown(text: string | undefined): Promise<void> | undefined {
    if (this.#options.storage.readIfChangedSync || text === undefined) return undefined;
    const id = tokenId(text);
    if (id === undefined || this.#tokens.has(id) || this.#wasReadRecently()) return undefined;
    this.#readAt = this.#options.now();
    return this.reload();
  }

  #wasReadRecently(): boolean {
    const age = this.#options.now() - this.#readAt;
    return age >= 0 && age < REFRESH_MS;
  }

  /** Reads the storage if another process changed it. Must not reject: on an error the known tokens stay valid. */
  async reload(): Promise<void> {
    try {
      const tokens = await this.#options.storage.readIfChanged();
      if (tokens) this.#replace(tokens);
    } catch (error) {
      this.#options.log.error(errorText(error));
    }
  }

  #replace(tokens: readonly TokenRecord[]): void {
    const before = this.#tokens;
    const byId = new Map(tokens.map((record) => [record.id, record]));
    this.#tokens = new Map(
      tokens.map((record) => {
        const [, ...minters] = lineageOf(record.id, (id) => byId.get(id));
        const above = minters.map(({ id, limits }) => ({ id, limits }));
        const principal = { ...principalOf(record), above };
        return [record.id, { record, hash: Buffer.from(record.hash, "hex"), principal }];
      }),
    );
    const revoked = [...before.keys()].filter((id) => !this.#tokens.has(id));
    if (revoked.length > 0) for (const listener of this.#listeners) listener(revoked);
  }

  #isCurrent({ expiresAt }: TokenRecord): boolean {
    return expiresAt === undefined || expiresAt > this.#options.now();
  }

  #maySee(by: Principal, record: TokenRecord): boolean {
    if (holds(by.scopes, "admin")) return true;
    for (let id: string | undefined = record.id, hops = 0; id !== undefined && hops < 100; hops++) {
      if (id === by.id) return true;
      id = this.#tokens.get(id)?.record.createdBy;
    }
    return false;
  }
}

/** Whether a token shares the names of its users with all others that were minted before tokens had kinds. */
export const isOldToken = ({ kind, person, scopes }: Pick<TokenRecord, "kind" | "person" | "scopes">): boolean =>
  kind === undefined && (person !== undefined || !holds(scopes, "operate"));

/** A token without a kind that may change things is the owner's; any other shares its names with all such tokens. */
function principalOf({ id, name, kind, scopes, limits, person, app }: TokenRecord): Principal {
  const known = { id, name, scopes, limits };
  if (kind === "person") return { ...known, kind, person: person as PersonId };
  if (kind === "application") return { ...known, kind, app };
  if (!isOldToken({ kind, person, scopes })) {
    return { ...known, kind: "owner", person: OWNER_ID };
  }
  return { ...known, kind: "old", user: person, person: person === undefined ? undefined : accountOf("api", person) };
}

const shown = ({ hash: _, request: __, ...rest }: TokenRecord): ShownToken => rest as ShownToken;

/** A token is shown once, so a repeated request gets its id only. */
export const alreadyMinted = (id: string): HttpError =>
  new HttpError(409, "already_minted", `This request has already minted the token ${id}, which is not shown again.`, {
    hint: "If you do not have it, revoke it and mint another one with a new Idempotency-Key.",
  });

const smaller = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other);

function stricter(wanted: UsageLimits | undefined, own: UsageLimits | undefined): UsageLimits | undefined {
  if (!wanted || !own) return wanted ?? own;
  return {
    messagesPerDay: smaller(wanted.messagesPerDay, own.messagesPerDay),
    requestsPerMinute: smaller(wanted.requestsPerMinute, own.requestsPerMinute),
    tokensPerDay: smaller(wanted.tokensPerDay, own.tokensPerDay),
    dollarsPerDay: smaller(wanted.dollarsPerDay, own.dollarsPerDay),
  };
}
