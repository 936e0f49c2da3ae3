/**
 * The tokens that open this gateway. Whoever mints gives at most what it has, and whoever is revoked loses its open
 * streams and everything it minted. They may be changed by `rookery tokens` or another node while we run: they are looked
 * at again.
 */
import { DeniedError, errorText, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import { type Allowance, type Principal, ROOT } from "./principal.ts";
import { holds, SCOPES, type Scope, within } from "./scope.ts";
import { freshToken, hashOf, MAX_TOKEN, sameHash, tokenId } from "./token.ts";
import type { TokenRecord } from "./token-file.ts";
import type { TokenStorage } from "./token-storage.ts";

export interface Minting {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresInDays?: number;
  readonly person?: string;
  readonly limits?: Allowance;
}

/** A token as it may be shown. */
export type ShownToken = Pick<
  TokenRecord,
  "id" | "name" | "scopes" | "createdAt" | "createdBy" | "expiresAt" | "person" | "limits"
>;

export interface TokenServiceOptions {
  readonly storage: TokenStorage;
  /** The home's own token; absent where only the shelf is worked on. */
  readonly root?: string;
  readonly now: () => number;
  readonly log: Log;
}

/** How long what lies on the shelf is believed before it is looked at again. */
const LOOK_EVERY_MS = 500;
const DAY_MS = 24 * 3600_000;

const ROOT_PRINCIPAL: Principal = { id: ROOT, name: "the home's own token", scopes: ["admin"] };

export class TokenService {
  readonly #options: TokenServiceOptions;
  readonly #root: Buffer | undefined;
  readonly #listeners = new Set<(ids: readonly string[]) => void>();
  #tokens = new Map<string, { readonly record: TokenRecord; readonly hash: Buffer; readonly principal: Principal }>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  private constructor(options: TokenServiceOptions) {
    this.#options = options;
    this.#root = options.root === undefined ? undefined : hashOf(options.root);
  }

  /** Rejects with `ConfigError` where the tokens are there and cannot be read. */
  static async open(options: TokenServiceOptions): Promise<TokenService> {
    const book = new TokenService(options);
    book.#keep((await options.storage.look()) ?? []);
    return book;
  }

  /** Who a token belongs to; undefined where it opens nothing (any more). */
  find(text: string): Principal | undefined {
    this.refresh();
    const hash = hashOf(text.slice(0, MAX_TOKEN + 1));
    const isRoot = this.#root !== undefined && sameHash(hash, this.#root);
    const known = this.#tokens.get(tokenId(text) ?? "");
    const isKnown = sameHash(hash, known?.hash ?? Buffer.alloc(hash.length));
    if (isRoot) return ROOT_PRINCIPAL;
    return known && isKnown && this.#lives(known.record) ? known.principal : undefined;
  }

  /** Whether a principal that was let in may still act. */
  stillValid({ id }: Principal): boolean {
    if (id === ROOT) return true;
    this.refresh();
    const known = this.#tokens.get(id);
    return known !== undefined && this.#lives(known.record);
  }

  /** The token itself is given once, here, and is nowhere to be read again. */
  async mint(by: Principal, minting: Minting): Promise<{ readonly token: string; readonly record: ShownToken }> {
    if (minting.scopes.length === 0) throw new InvalidInputError("A token needs at least one scope.");
    if (!within(by.scopes, minting.scopes)) {
      throw new DeniedError(`A token with ${by.scopes.join(", ")} cannot give ${minting.scopes.join(", ")}.`, {
        hint: "A token mints at most what it has itself.",
      });
    }
    if (by.person !== undefined && minting.person !== by.person) {
      throw new DeniedError("A token for one person mints tokens for that person only.");
    }
    const at = this.#options.now();
    const { id, text, hash } = freshToken();
    const own = by.id === ROOT ? undefined : this.#tokens.get(by.id)?.record;
    const wanted = minting.expiresInDays === undefined ? undefined : Math.round(at + minting.expiresInDays * DAY_MS);
    // What is minted ends with its minter at the latest, and may ask and spend no more.
    const expiresAt = earliest(wanted, own?.expiresAt);
    const limits = tighter(minting.limits, own?.limits);
    const record: TokenRecord = {
      id,
      name: minting.name,
      scopes: SCOPES.filter((scope) => minting.scopes.includes(scope)),
      hash,
      createdAt: at,
      createdBy: by.id,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(minting.person === undefined ? {} : { person: minting.person }),
      ...(limits === undefined ? {} : { limits }),
    };
    const tokens = await this.#options.storage.change((known) => {
      // Revoked meanwhile, here or elsewhere: what it mints would outlive it.
      if (by.id !== ROOT && !known.some((token) => token.id === by.id))
        throw new DeniedError("This token was revoked.");
      return [...known, record];
    });
    this.#keep(tokens);
    return { token: text, record: shown(record) };
  }

  /** Revokes a token and what it minted. Gives the ids of all of them. */
  async revoke(by: Principal, id: string): Promise<readonly string[]> {
    await this.lookAgain();
    const known = this.#tokens.get(id);
    if (!known || !this.#maySee(by, known.record)) {
      throw new NotFoundError(`There is no token ${id}.`, { hint: "`rookery tokens list` shows them." });
    }
    let gone = new Set([id]);
    this.#keep(
      await this.#options.storage.change((tokens) => {
        gone = new Set([id]);
        for (let size = 0; size !== gone.size; ) {
          size = gone.size;
          for (const token of tokens) if (gone.has(token.createdBy)) gone.add(token.id);
        }
        return tokens.filter((token) => !gone.has(token.id));
      }),
    );
    return [...gone];
  }

  /** An admin sees all tokens, others themselves and what came from them. */
  list(by: Principal): readonly ShownToken[] {
    this.refresh();
    return [...this.#tokens.values()].flatMap(({ record }) => (this.#maySee(by, record) ? [shown(record)] : []));
  }

  /** Told of tokens that no longer open anything. Returns how to stop. */
  onRevoked(listener: (ids: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks whether somebody else changed the file, where that can be seen at once. What cannot be read changes nothing. */
  refresh(): void {
    const at = this.#options.now();
    const { storage, log } = this.#options;
    if (!storage.lookNow || (at - this.#lookedAt < LOOK_EVERY_MS && at >= this.#lookedAt)) return;
    this.#lookedAt = at;
    try {
      const tokens = storage.lookNow();
      if (tokens) this.#keep(tokens);
    } catch (error) {
      log.error(errorText(error));
    }
  }

  /** A token that nobody here knows may just have been minted on another node: then that is looked for, not too often. */
  lookFor(text: string | undefined): Promise<void> | undefined {
    if (this.#options.storage.lookNow || text === undefined) return undefined;
    const id = tokenId(text);
    const at = this.#options.now();
    if (id === undefined || this.#tokens.has(id) || (at - this.#lookedAt < LOOK_EVERY_MS && at >= this.#lookedAt)) {
      return undefined;
    }
    this.#lookedAt = at;
    return this.lookAgain();
  }

  /** Looks whether somebody else changed them, wherever they lie. What cannot be read changes nothing: what was known holds. */
  async lookAgain(): Promise<void> {
    try {
      const tokens = await this.#options.storage.look();
      if (tokens) this.#keep(tokens);
    } catch (error) {
      this.#options.log.error(errorText(error));
    }
  }

  #keep(tokens: readonly TokenRecord[]): void {
    const before = this.#tokens;
    this.#tokens = new Map(
      tokens.map((record) => {
        const { id, name, scopes, limits, person } = record;
        return [id, { record, hash: Buffer.from(record.hash, "hex"), principal: { id, name, scopes, limits, person } }];
      }),
    );
    const gone = [...before.keys()].filter((id) => !this.#tokens.has(id));
    if (gone.length > 0) for (const listener of this.#listeners) listener(gone);
  }

  #lives({ expiresAt }: TokenRecord): boolean {
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

const shown = ({ hash: _, ...rest }: TokenRecord): ShownToken => rest as ShownToken;

const earliest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other);

function tighter(wanted: Allowance | undefined, own: Allowance | undefined): Allowance | undefined {
  if (!wanted || !own) return wanted ?? own;
  return {
    requestsPerMinute: earliest(wanted.requestsPerMinute, own.requestsPerMinute),
    tokensPerDay: earliest(wanted.tokensPerDay, own.tokensPerDay),
    dollarsPerDay: earliest(wanted.dollarsPerDay, own.dollarsPerDay),
  };
}
