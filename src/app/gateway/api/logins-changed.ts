/** After a commit that changed people or their logins: both are read again here, and on the nodes that share the store. */
import type { GatewayContext } from "../routing/gateway-context.ts";

export function peopleChanged({ agents, remoteNodes }: GatewayContext): void {
  agents.directory.forget();
  remoteNodes?.notifyChanged("tokens");
}

export async function loginsChanged(context: GatewayContext): Promise<void> {
  await context.logins.reload();
  peopleChanged(context);
}
