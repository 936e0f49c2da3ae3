/**
 * The secret of the login, in the storage of this origin. Cookies go to every port of a host, and every port may set
 * them. Each tab keeps the secret it has read, so that a sign-in in another tab does not change who this one is.
 */
import { BASE } from "./base.ts";

const KEY = `rookery-login ${BASE}`;

let login = stored();

export function keepLogin(secret: string | null): void {
  login = secret;
  try {
    if (secret === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, secret);
  } catch {
    // The browser stores nothing: the login lasts until the page is loaded again.
  }
}

/** Reads what another tab has stored. */
export function readLogin(): void {
  login = stored();
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Never follows a redirect: it could lead to another origin. */
export const fetchAs =
  (secret: string | null): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers);
    if (secret !== null) headers.set("rookery-login", secret);
    return fetch(input, { ...init, headers, redirect: "error" });
  };

export const fetchWithLogin: typeof fetch = (input, init) => fetchAs(login)(input, init);
