/**
 * A token: `rk_<id>_<secret>`. The id is public and finds the record; only a hash of the token is stored. A hash without
 * salt and rounds is enough, because the secret is 256 random bits and not a password.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

const SHAPE = /^rk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
/** Matches a token or the secret of a login anywhere in a text. */
export const TOKEN_SHAPED = /r[ks]_[a-z0-9]{12}_[A-Za-z0-9_-]{20,}/;
export const MAX_TOKEN = 512;

export interface FreshToken {
  readonly id: string;
  readonly text: string;
  readonly hash: string;
}

export const freshToken = (): FreshToken => secretOf("rk", randomBytes(9), randomBytes(32));

/** A secret with its own prefix, of random bytes. */
export function secretOf(prefix: string, idBytes: Buffer, secretBytes: Buffer): FreshToken {
  const id = BigInt(`0x${idBytes.toString("hex")}`)
    .toString(36)
    .padStart(12, "0")
    .slice(-12);
  const text = `${prefix}_${id}_${secretBytes.toString("base64url")}`;
  return { id, text, hash: hashOf(text).toString("hex") };
}

export const tokenId = (text: string): string | undefined => SHAPE.exec(text)?.[1];

export const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares digests in constant time. */
export const sameHash = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
