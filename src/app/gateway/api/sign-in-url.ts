/** Links that sign people in to the control room. The secret is in the fragment, which browsers do not send and servers do not log. */
import type { Op } from "../../../core/store/change.ts";
import type { Actor } from "../../../engine/people/audit-entry.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";

/** Durable when it resolves: the code works once, within a minute. */
export async function signInUrl(
  { logins, settings, address }: Pick<GatewayContext, "logins" | "settings" | "address">,
  by: Actor,
  also?: readonly Op[],
): Promise<{ url: string; expiresAt: number }> {
  const { code, expiresAt } = await logins.code(by, also);
  return { url: pageLink(settings.current.gateway.publicUrl ?? reachable(address.url ?? ""), "code", code), expiresAt };
}

/** `code`: the page uses it at once. `invite`: the page asks first. */
export const pageLink = (base: string, kind: "code" | "invite", secret: string): string =>
  `${base.replace(/\/$/, "")}/#${kind}=${secret}`;

/** No browser opens the address that stands for all addresses of the machine. */
const reachable = (url: string): string => url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:");
