/**
 * Sends what would wait in a mailbox to an application's own address instead. Signed with a timestamp, retried by the outbox,
 * and idempotent: every attempt has the delivery's id, so that a receiver which keeps ids handles each once (M27).
 */
import { contentOf, type DeliveryContext } from "../../../core/delivery/delivery.ts";
import { API_CHANNEL, OWNER_MAILBOX, PERSON_CHANNEL, WEBHOOK_CHANNEL } from "../../../core/delivery/route.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Connector, OutgoingDelivery } from "../../../core/ports/connector.ts";
import type { HttpPost } from "../../../core/ports/http-post.ts";
import { postSigned } from "./signed-post.ts";

/** One configured address. Which deliveries it takes: those for these users, for the owner, or of agents of these profiles. */
export interface WebhookTarget {
  readonly url: string;
  /** Throws if the secret is missing. */
  secret(): string;
  readonly users: readonly string[];
  readonly owner: boolean;
  readonly profiles: readonly string[];
}

interface WebhookDeps {
  readonly clock: Pick<Clock, "now">;
  readonly post: HttpPost;
  /** By name. Read at each use: the configuration may change. */
  targets(): ReadonlyMap<string, WebhookTarget>;
}

export function webhookConnector({ clock, post, targets }: WebhookDeps): Connector {
  return {
    name: WEBHOOK_CHANNEL,
    // It names the files; the application loads them from the gateway.
    capabilities: { sendText: true, sendFiles: { modes: ["document"] } },
    sendingClass: "idempotent",
    takesOver: (target, profile) => takenOver(targets(), target, profile),
    start: async () => {},
    stop: async () => {},
    health: () => ({ ok: true, detail: `${targets().size} addresses` }),
    async send(delivery, signal) {
      const { accountId = "" } = delivery.target;
      const target = targets().get(accountId);
      if (!target) return { status: "retry", reason: `There is no webhook "${accountId}" in the configuration.` };
      const { url, secret } = target;
      return postSigned({ clock, post }, { url, secret, id: delivery.id, body: bodyOf(delivery) }, signal);
    },
  };
}

/** The address of the webhook that a delivery goes to; undefined if it stays in its mailbox. */
function takenOver(
  targets: ReadonlyMap<string, WebhookTarget>,
  target: DeliveryContext,
  profile: string | undefined,
): DeliveryContext | undefined {
  const reader = readerOf(target);
  if (reader === undefined) return undefined;
  for (const [name, { users, owner, profiles }] of targets) {
    const isOwners = reader.owner && owner;
    const isUsers = !reader.owner && users.includes(reader.name);
    if (isOwners || isUsers || (profile !== undefined && profiles.includes(profile))) {
      return { channel: WEBHOOK_CHANNEL, accountId: name, to: reader.name };
    }
  }
  return undefined;
}

/** Finds the reader of a mailbox; undefined for any other address. */
function readerOf({ channel, accountId, to }: DeliveryContext): { name: string; owner: boolean } | undefined {
  if (channel === API_CHANNEL && to !== undefined) {
    const owner = accountId === OWNER_MAILBOX.accountId && to === OWNER_MAILBOX.to;
    return owner || accountId === undefined ? { name: to, owner } : undefined;
  }
  if (channel !== PERSON_CHANNEL || to === undefined) return undefined;
  if (to === OWNER_MAILBOX.to) return { name: to, owner: true };
  return to.startsWith(`${API_CHANNEL}:`) ? { name: to.slice(API_CHANNEL.length + 1), owner: false } : undefined;
}

function bodyOf({ id, target, payload }: OutgoingDelivery): string {
  return JSON.stringify({ id, to: target.to, ...contentOf(payload) });
}
