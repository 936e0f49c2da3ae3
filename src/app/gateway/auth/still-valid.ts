/** Whether what a request presented is still valid, for streams that stay open: a token, a login, or a person that a proxy names. */
import { OWNER } from "../../../core/people/person.ts";
import type { Directory } from "../../../engine/people/directory.ts";
import type { LoginService } from "./login-service.ts";
import { LOGIN_PREFIX, PROXY_PREFIX, type Principal } from "./principal.ts";
import type { TokenService } from "./token-service.ts";

export interface ValidityContext {
  readonly tokens: TokenService;
  readonly logins: LoginService;
  readonly agents: { readonly directory: Directory };
}

/** Must not reject: if the store does not answer, a person counts as known. */
export function isStillValid(
  { tokens, logins, agents }: ValidityContext,
  principal: Principal,
): boolean | Promise<boolean> {
  const { id, person } = principal;
  const isLogin = id.startsWith(LOGIN_PREFIX);
  if (!isLogin && !id.startsWith(PROXY_PREFIX)) return tokens.stillValid(principal);
  if (isLogin && !logins.stillValid(principal)) return false;
  if (isLogin && person === OWNER) return true;
  return agents.directory.now().then(
    (people) => person !== undefined && people.record(person)?.role === "guest",
    () => true,
  );
}
