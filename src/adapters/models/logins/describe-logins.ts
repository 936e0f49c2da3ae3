/** The logins of a home as lists show them: no tokens. */
import type { LoginsByProvider } from "./login-file.ts";

export interface DescribedLogin {
  readonly provider: string;
  readonly profile: string;
  /** `ended`: the person must log in again. `expired`: the next call refreshes it. */
  readonly state: "valid" | "expired" | "ended";
  /** When the token in use expires; null: it does not. It is refreshed before. */
  readonly expiresAt: number | null;
  readonly loggedInAt: number;
}

/** A provider whose token does not expire says a time after this one. */
const NEVER = Date.UTC(9999, 0);

export const describeLogins = (logins: LoginsByProvider, now: number): readonly DescribedLogin[] =>
  Object.entries(logins).flatMap(([provider, profiles]) =>
    Object.entries(profiles).map(
      ([
        profile,
        {
          credential: { expires },
          ended,
          loggedInAt,
        },
      ]) => ({
        ...{ provider, profile, loggedInAt },
        state: ended ? ("ended" as const) : expires <= now ? ("expired" as const) : ("valid" as const),
        expiresAt: expires >= NEVER ? null : expires,
      }),
    ),
  );

/** A part of a sentence, with the command that helps. */
export function loginStateText({ provider, profile, state, expiresAt }: Omit<DescribedLogin, "loggedInAt">): string {
  const named = profile === "default" ? "" : ` --profile ${profile}`;
  if (state === "ended") return `no longer accepted: log in again with \`rookery models login ${provider}${named}\``;
  if (expiresAt === null) return "does not expire";
  const at = new Date(expiresAt).toISOString();
  return state === "expired" ? `expired ${at}; refreshed with the next call` : `expires ${at}; refreshed before`;
}
