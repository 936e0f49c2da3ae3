/** The logins of a home, in `logins.json`. Only a holder of the lock writes. */
import { z } from "zod";
import { type ByProfile, profileFile } from "../profile-file.ts";

const credentialSchema = z.looseObject({ access: z.string().min(1), refresh: z.string(), expires: z.number() });

/** Throws if a server left out a token: the library does not check all of them. */
export function checkCredential<T>(credential: T): T {
  if (!credentialSchema.safeParse(credential).success) throw new TypeError("incomplete tokens");
  return credential;
}

const loginSchema = z.looseObject({
  /** The same in every copy of the file. */
  id: z.string().min(1),
  /** The key with which a copy in a shared store is encrypted. It is never in that store. */
  seal: z.string().min(1),
  loggedInAt: z.number(),
  /** How many times the tokens were refreshed: of two copies, the one with more is newer. */
  renewals: z.number(),
  /** The provider's tokens as the library wants them back. */
  credential: credentialSchema,
  /** What a request needs. */
  auth: z.looseObject({
    apiKey: z.string().optional(),
    headers: z.record(z.string(), z.string().nullable()).optional(),
    baseUrl: z.string().optional(),
  }),
  /** Set when the provider refused to refresh: the person must log in again. */
  ended: z.looseObject({ at: z.number(), why: z.string(), refusals: z.int().positive().optional() }).optional(),
});

export type Login = z.infer<typeof loginSchema>;
export type LoginsByProvider = ByProfile<Login>;

const logins = profileFile<Login>({
  field: "logins",
  value: loginSchema,
  hint: "Correct the file, or move it away and log in again with `rookery models login`.",
});

export const readLogins = logins.read;
export const writeLogin = logins.write;
export const loginsIn = logins.follow;

export const loginIn = (all: LoginsByProvider, provider: string, profile: string): Login | undefined =>
  Object.hasOwn(all, provider) && Object.hasOwn(all[provider] ?? {}, profile) ? all[provider]?.[profile] : undefined;
