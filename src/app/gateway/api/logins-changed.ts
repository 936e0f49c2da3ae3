/** After a commit that changed logins: they are read again here, and on the nodes that share the store. */
import type { GatewayContext } from "../routing/gateway-context.ts";

export async function loginsChanged({ logins, remoteNodes }: GatewayContext): Promise<void> {
  await logins.reload();
  remoteNodes?.notifyChanged("tokens");
}
