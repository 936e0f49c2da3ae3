/** Who is signed in. A code in the fragment of the address is exchanged for a cookie once, and removed from the address. */
import { signal } from "@preact/signals";
import { newKey } from "../../src/client-browser.ts";
import { api, isSignedOut, messageOf } from "./api.ts";
import { replaceRoute } from "./router.ts";

export interface Me {
  readonly person: string | null;
  readonly name: string;
  readonly isOwner: boolean;
  readonly scopes: readonly string[];
  readonly login: string | null;
  readonly version: string;
  readonly timeZone: string | null;
}

export type Session =
  | { readonly state: "loading" }
  | { readonly state: "out"; readonly problem?: string }
  | { readonly state: "in"; readonly me: Me };

export const session = signal<Session>({ state: "loading" });

/** The signed-in person, for views that need one. */
export function currentMe(): Me {
  const now = session.value;
  return now.state === "in" ? now.me : NO_ONE;
}

const NO_ONE: Me = { person: null, name: "", isOwner: false, scopes: [], login: null, version: "", timeZone: null };

export const isOwner = (): boolean => currentMe().isOwner;

export async function signIn(): Promise<void> {
  const code = /^#code=([\w-]{1,100})$/.exec(location.hash)?.[1];
  if (code !== undefined) replaceRoute("#/now");
  try {
    if (code !== undefined) await api.post("/api/logins", { code, nonce: newKey() });
    session.value = { state: "in", me: await api.get<Me>("/api/me") };
  } catch (error) {
    const isExpected = isSignedOut(error) && code === undefined;
    session.value = { state: "out", problem: isExpected ? undefined : messageOf(error) };
  }
}

/** The server says that the login has ended. */
export function signedOut(problem?: string): void {
  if (session.value.state === "in") session.value = { state: "out", problem };
}

export async function signOut(): Promise<void> {
  const { login } = currentMe();
  if (login !== null) await api.delete(`/api/logins/${login}`).catch(() => undefined);
  session.value = { state: "out" };
}
