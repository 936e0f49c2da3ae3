/** The accounts on channels: their state, their last error, and what waits for them. */
import type { Delivery } from "../../../core/delivery/delivery.ts";
import { SENDABLE_STATES } from "../../../core/delivery/delivery-states.ts";
import type { AccountStatus } from "../../../core/ports/connector.ts";
import { qrRows } from "../../../core/qr-code.ts";
import { isOwners } from "../auth/actor.ts";
import { type ChannelStatus, channelStatuses } from "../reads/channel-statuses.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";
import { type ConnectorItem, type ConnectorLogin, connectorItemSchema } from "../schemas/status.ts";

/** How many open deliveries are counted. */
const MAX_COUNTED = 1_000;

const connectorsRoute = defineRoute({
  name: "listConnectors",
  method: "GET",
  path: "/api/connectors",
  access: "read",
  action: "manage.health",
  tag: "health",
  summary: "The accounts on channels, their state and what waits for them",
  output: listSchema(connectorItemSchema),
  async handle({ context, principal }) {
    const open = await context.ports.store.deliveries({ limit: MAX_COUNTED, states: SENDABLE_STATES });
    const items = channelStatuses(context.ports.connectors, context.settings.current.connectors).map(
      (item): ConnectorItem => ({
        ...item,
        waiting: waitingFor(item, open),
        login: item.login && isOwners(principal) ? shownLogin(item.login) : undefined,
      }),
    );
    return { json: { items, next: null } };
  },
});

const shownLogin = ({ qr, pairingCode }: NonNullable<AccountStatus["login"]>): ConnectorLogin => ({
  pairingCode,
  rows: qr === undefined ? undefined : qrRows(qr)?.map((row) => row.map((on) => (on ? "1" : "0")).join("")),
});

const waitingFor = ({ channel, accountId }: ChannelStatus, open: readonly Delivery[]): number =>
  open.filter(({ target }) => target.channel === channel && target.accountId === accountId).length;

export const connectorRoutes: readonly Route[] = [connectorsRoute];
