/** The guards that bind a login to the origin of the page. */
import type { Guard } from "./guards.ts";

const AUTH = "src/app/gateway/auth";
const PAGE = "test/web/other-port.test.ts";
const SIGN_IN = "src/app/gateway/sign-in.test.ts";
const INVITATIONS = "src/app/gateway/invitations.test.ts";
const LOGINS = `${AUTH}/login-service.test.ts`;

const NO_COOKIE = {
  file: `${AUTH}/ambient-identity.ts`,
  search: 'return typeof value === "string" ? value : undefined;',
  replace: 'return typeof value === "string" ? value : /rookery=([^;]+)/u.exec(headers.cookie ?? "")?.[1];',
};
const PAGE_KEEPS = {
  file: "web/src/login.ts",
  search: "    else localStorage.setItem(KEY, secret);\n",
  replace:
    '    else localStorage.setItem(KEY, secret);\n    document.cookie = "rookery=" + (secret ?? "") + "; path=/";\n',
};
const CODE_OR_INVITATION = {
  file: `${AUTH}/login-service.ts`,
  search: '(used.person === OWNER_ID) !== (kind === "code") || ',
  replace: "",
};

export const LOGIN_GUARDS: readonly Guard[] = [
  {
    name: "a cookie is no login",
    ...NO_COOKIE,
    test: SIGN_IN,
    title: "is one as a header only",
  },
  {
    name: "a cookie is no login of a guest",
    ...NO_COOKIE,
    test: INVITATIONS,
    title: "is worth nothing as a cookie",
  },
  {
    name: "a cookie is no login on any route",
    ...NO_COOKIE,
    test: "src/app/gateway/login-matrix.test.ts",
    title: "for its secret as a cookie as for nobody",
  },
  {
    name: "the page keeps no login in a cookie",
    ...PAGE_KEEPS,
    test: PAGE,
    title: "receives nothing that reads a history or stores a rule",
  },
  {
    name: "the page keeps no cookie",
    ...PAGE_KEEPS,
    test: PAGE,
    title: "uploads, downloads, shows pictures and follows streams",
  },
  {
    name: "a planted cookie is no login",
    ...NO_COOKIE,
    search: 'const value = headers[LOGIN_HEADER];\n  return typeof value === "string" ? value : undefined;',
    replace:
      'const value = /rookery=([^;]+)/u.exec(headers.cookie ?? "")?.[1] ?? headers[LOGIN_HEADER];\n  return typeof value === "string" ? value : undefined;',
    test: PAGE,
    title: "cannot make the owner's page a guest's with a cookie or a link",
  },
  {
    name: "a link that signs in without asking is not an invitation",
    ...CODE_OR_INVITATION,
    test: PAGE,
    title: "cannot make the owner's page a guest's with a cookie or a link",
  },
  {
    name: "a code is not an invitation",
    ...CODE_OR_INVITATION,
    test: SIGN_IN,
    title: "is not an invitation, and an invitation is not a code",
  },
  {
    name: "an invitation is not a code",
    ...CODE_OR_INVITATION,
    test: INVITATIONS,
    title: "cannot be used as a code, which signs in without asking",
  },
  {
    name: "a code is not shown as an invitation",
    file: `${AUTH}/login-service.ts`,
    search: "if (!invitation || invitation.person === OWNER_ID) return undefined;",
    replace: "if (!invitation) return undefined;",
    test: SIGN_IN,
    title: "is not an invitation, and an invitation is not a code",
  },
  {
    name: "the page asks before it uses an invitation",
    file: "web/src/session.ts",
    search: '  session.value = { state: "invited", name, accept };\n',
    replace: '  session.value = { state: "invited", name, accept };\n  await accept();\n',
    test: PAGE,
    title: "cannot use an invitation unseen",
  },
  {
    name: "a login in another tab changes no open page",
    file: "web/src/login.ts",
    search: "(input, init) => fetchAs(login)(input, init);",
    replace: "(input, init) => fetchAs(stored())(input, init);",
    test: PAGE,
    title: "cannot use an invitation unseen",
  },
  {
    name: "pages of other origins may not send a login",
    file: "src/app/gateway/routing/request-listener.ts",
    search: "authorization, content-type, idempotency-key, last-event-id",
    replace: "authorization, content-type, idempotency-key, last-event-id, rookery-login",
    test: SIGN_IN,
    title: "refuses pages of other origins",
  },
  {
    name: "another port is a foreign origin",
    file: `${AUTH}/request-policy.ts`,
    search: "return origin.toLowerCase() === own || origin === policy.publicUrl?.origin;",
    replace: 'return origin.startsWith(own.replace(/:[0-9]+$/u, "")) || origin === policy.publicUrl?.origin;',
    test: SIGN_IN,
    title: "refuses pages of other origins",
  },
  {
    name: "pages of other origins use no invitation",
    file: `${AUTH}/request-policy.ts`,
    search:
      "if (isSameOrigin(incoming, policy) || policy.allowedOrigins.includes(origin)) return undefined;\n  return foreignOrigin();",
    replace: "return isSameOrigin(incoming, policy) ? undefined : undefined;",
    test: INVITATIONS,
    title: "is used by pages of this server only",
  },
  {
    name: "changes through a proxy come from pages of this server",
    file: `${AUTH}/ambient-identity.ts`,
    search: 'if (method !== "GET" && method !== "HEAD" && !caller.isSameOrigin()) {',
    replace: 'if (method === "NONE" && !caller.isSameOrigin()) {',
    test: INVITATIONS,
    title: "names a person only from the proxy's address",
  },
  {
    name: "logins by a cookie have ended",
    file: `${AUTH}/login-records.ts`,
    search: "HEADER_LOGINS.safeParse(stored).success ? records : NONE",
    replace: "HEADER_LOGINS.safeParse(stored).success ? records : records",
    test: LOGINS,
    title: "sign nobody in",
  },
  {
    name: "a lost answer is repeated to the same page only",
    file: `${AUTH}/login-records.ts`,
    search: "nonce}`).digest();",
    replace: "nonce.slice(0, 0)}`).digest();",
    test: SIGN_IN,
    title: "works once, with the same nonce again only for the same browser",
  },
  {
    name: "a code works for a minute",
    file: `${AUTH}/login-service.ts`,
    search: "const CODE_MS = 60_000;",
    replace: "const CODE_MS = 24 * HOUR_MS;",
    test: SIGN_IN,
    title: "is gone after a minute",
  },
];
