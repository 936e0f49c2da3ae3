/** Two things are called `webhook`: addresses that get what would wait in a mailbox, and programs that are channels. Each delivery goes to its own. */
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { Connector } from "../../../core/ports/connector.ts";
import type { AccountsConnector } from "../accounts/accounts-connector.ts";

/** `isMailbox`: whether an address is one of those that get what would wait in a mailbox. */
export function bothWebhooks(
  programs: AccountsConnector,
  mailboxes: Connector,
  isMailbox: (target: DeliveryContext) => boolean,
): Connector {
  return {
    ...programs,
    takesOver: mailboxes.takesOver,
    isRemote: (target) => (target && !isMailbox(target) ? (programs.isRemote?.(target) ?? false) : false),
    admit: (target) => (isMailbox(target) ? (mailboxes.admit?.(target) ?? 0) : (programs.admit?.(target) ?? 0)),
    send: (delivery, signal) => (isMailbox(delivery.target) ? mailboxes : programs).send(delivery, signal),
    view: (target, run) => (isMailbox(target) ? undefined : programs.view?.(target, run)),
  };
}
