/**
 * Invitations and logins as they are stored: hashes, never secrets. Both are in one value of the store, so that one commit turns an
 * invitation into a login (M1). Expired ones are left out with the next change.
 */
import { createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { ConfigError } from "../../../core/errors.ts";
import { type FreshToken, hashOf, sameHash, secretOf } from "./token.ts";

const id = z.string().regex(/^[a-z0-9]{12}$/);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

const invitationSchema = z.object({ id, hash, person: z.string(), createdAt: z.int(), expiresAt: z.int() });
type Invitation = z.infer<typeof invitationSchema>;

const loginSchema = z.object({
  id,
  hash,
  person: z.string(),
  createdAt: z.int(),
  expiresAt: z.int(),
  /** The browser, as it names itself. */
  browser: z.string().optional(),
});
export type Login = z.infer<typeof loginSchema>;

const recordsSchema = z.object({ invitations: z.array(invitationSchema), logins: z.array(loginSchema) });
export type LoginRecords = z.infer<typeof recordsSchema>;

/** Records without it are of logins by a cookie, whose secret other servers on the same machine may have received. */
const HEADER_LOGINS = z.object({ by: z.literal("header") });
const NONE: LoginRecords = { invitations: [], logins: [] };

export const LOGINS_FACT = "api.logins";

/** The oldest ones of a person end when a new one exceeds these. */
const INVITATIONS_PER_PERSON = 10;
const LOGINS_PER_PERSON = 50;
const BROWSER_CHARACTERS = 120;

/** Logins by a cookie have ended, and invitations from before. */
export function parseLogins(text: string | undefined): LoginRecords {
  if (text === undefined) return NONE;
  try {
    const stored: unknown = JSON.parse(text);
    const records = recordsSchema.parse(stored);
    return HEADER_LOGINS.safeParse(stored).success ? records : NONE;
  } catch (cause) {
    throw new ConfigError("The logins in the store cannot be read.", {
      cause,
      hint: `Remove the fact ${LOGINS_FACT}; every login and open invitation then ends.`,
    });
  }
}

const INVITATION = /^ri_([a-z0-9]{12})_[A-Za-z0-9_-]{43}$/;
const LOGIN = /^rs_([a-z0-9]{12})_[A-Za-z0-9_-]{43}$/;

export const freshInvitation = (): FreshToken => secretOf("ri", randomBytes(9), randomBytes(32));

/**
 * The secret of the login that an invitation becomes. The same invitation and nonce give the same secret: a page that lost
 * the answer asks again and gets it. Who knows the link alone does not know the nonce.
 */
export function loginSecret(invitation: string, nonce: string): FreshToken {
  const bytes = (what: string): Buffer => createHmac("sha256", invitation).update(`${what} ${nonce}`).digest();
  return secretOf("rs", bytes("id").subarray(0, 9), bytes("secret"));
}

/** As text for the store. */
export const storedLogins = (records: LoginRecords): string => JSON.stringify({ by: "header", ...records });

export const findInvitation = ({ invitations }: LoginRecords, text: string): Invitation | undefined =>
  found(invitations, INVITATION.exec(text)?.[1], text);

export const findLogin = ({ logins }: LoginRecords, text: string): Login | undefined =>
  found(logins, LOGIN.exec(text)?.[1], text);

/** Compares digests in constant time. */
function found<T extends { id: string; hash: string }>(records: readonly T[], of: string | undefined, text: string) {
  const record = of === undefined ? undefined : records.find((one) => one.id === of);
  return record && sameHash(hashOf(text), Buffer.from(record.hash, "hex")) ? record : undefined;
}

export const withInvitation = (records: LoginRecords, invitation: Invitation, now: number): LoginRecords => ({
  logins: current(records.logins, now),
  invitations: latest([...current(records.invitations, now), invitation], invitation.person, INVITATIONS_PER_PERSON),
});

/** The invitation is gone, and the login is there. */
export const exchanged = (records: LoginRecords, used: Invitation, login: Login, now: number): LoginRecords => ({
  invitations: current(records.invitations, now).filter(({ id: other }) => other !== used.id),
  logins: latest(
    [...current(records.logins, now), { ...login, browser: login.browser?.slice(0, BROWSER_CHARACTERS) }],
    login.person,
    LOGINS_PER_PERSON,
  ),
});

export const withoutPerson = ({ invitations, logins }: LoginRecords, person: string): LoginRecords => ({
  invitations: invitations.filter((one) => one.person !== person),
  logins: logins.filter((one) => one.person !== person),
});

const current = <T extends { expiresAt: number }>(records: readonly T[], now: number): T[] =>
  records.filter(({ expiresAt }) => expiresAt > now);

function latest<T extends { person: string }>(records: readonly T[], person: string, most: number): T[] {
  const own = records.filter((one) => one.person === person);
  const ended = new Set(own.slice(0, Math.max(0, own.length - most)));
  return records.filter((one) => !ended.has(one));
}
