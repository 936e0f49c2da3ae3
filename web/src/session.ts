/**
 * Who is signed in. The secret in the fragment of the address is removed from it and becomes a login, once: the code of the owner
 * at once, an invitation when the person says so, because anyone may have made the link.
 */
import { signal } from "@preact/signals";
import { newKey } from "../../src/client-browser.ts";
import { api, apiAs, isLost, isSignedOut, messageOf } from "./api.ts";
import { forgetDrafts } from "./drafts.ts";
import { keepLogin, readLogin } from "./login.ts";
import { replaceRoute } from "./router.ts";
import { showProblem } from "./ui/toast.tsx";

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
  /** The engine does not answer. The page tries again by itself. */
  | { readonly state: "away" }
  | { readonly state: "out"; readonly problem?: string }
  | { readonly state: "invited"; readonly name: string; accept(): Promise<void> }
  | { readonly state: "in"; readonly me: Me };

export const session = signal<Session>({ state: "loading" });

/** The signed-in person, for views that need one. */
export function currentMe(): Me {
  const now = session.value;
  return now.state === "in" ? now.me : NO_ONE;
}

const NO_ONE: Me = { person: null, name: "", isOwner: false, scopes: [], login: null, version: "", timeZone: null };

export const isOwner = (): boolean => currentMe().isOwner;

const LINK = /^#(code|invite)=([\w-]{1,100})$/;

export const isSignInLink = (hash: string): boolean => LINK.test(hash);

/** Uses the link in the address, if there is one. */
export async function signIn(): Promise<void> {
  const [, kind, secret] = LINK.exec(location.hash) ?? [];
  if (secret === undefined) return showSession();
  replaceRoute("#/now");
  try {
    if (kind === "code") await begin({ code: secret, nonce: newKey() });
    else return await ask(secret);
  } catch (error) {
    return showSession(messageOf(error));
  }
  await showSession();
}

/** The link changes nothing until the person accepts. */
async function ask(invitation: string): Promise<void> {
  const { name } = await apiAs(invitation).get<{ name: string }>("/api/invitation");
  const nonce = newKey();
  const accept = async (): Promise<void> => {
    await begin({ invitation, nonce });
    await showSession();
  };
  session.value = { state: "invited", name, accept };
}

async function begin(link: object): Promise<void> {
  const { secret } = await api.post<{ secret: string }>("/api/logins", link);
  keepLogin(secret);
}

/** Reads who the login belongs to. `problem`: why a link could not be used; whoever was signed in before stays so. */
export async function showSession(problem?: string): Promise<void> {
  reads += 1;
  const read = reads;
  try {
    const me = await api.get<Me>("/api/me");
    if (read !== reads) return;
    session.value = { state: "in", me };
    if (problem !== undefined) showProblem(problem);
  } catch (error) {
    if (read !== reads) return;
    if (isLost(error)) {
      session.value = { state: "away" };
      setTimeout(() => read === reads && void showSession(problem), AGAIN_MS);
    } else session.value = { state: "out", problem: problem ?? (isSignedOut(error) ? undefined : messageOf(error)) };
  }
}

const AGAIN_MS = 2_000;
/** Counts reads: a late answer to an earlier one is ignored. */
let reads = 0;

/** A sign-in in another tab of this browser also signs in a tab whose login has ended. */
export function onLoginElsewhere(): void {
  if (session.peek().state !== "out") return;
  readLogin();
  void showSession();
}

/** The server says that the login has ended. */
export function signedOut(problem?: string): void {
  if (session.value.state === "in") session.value = { state: "out", problem };
}

export async function signOut(): Promise<void> {
  const { login } = currentMe();
  if (login !== null) await api.delete(`/api/logins/${login}`).catch(() => undefined);
  keepLogin(null);
  forgetDrafts();
  session.value = { state: "out" };
}
