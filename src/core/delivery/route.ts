/**
 * Who gets a delivery, by its address: a connector sends it, a reader takes it from a mailbox (M27), or no one can be reached
 * there yet (M26).
 */
import type { DeliveryContext, NewDelivery, WaitingState } from "./delivery.ts";

/** People who use the API. `to` is the user's name, as in the session key `agent:main:api:dm:ann`. */
export const API_CHANNEL = "api";
/** A program of one's own that posts messages, and gets the answers at an address. */
export const WEBHOOK_CHANNEL = "webhook";
/** People at a terminal of the home. */
export const TERMINAL_CHANNEL = "terminal";
/** A person instead of an address: `to` names the person, and a route is looked up when one may exist. */
export const PERSON_CHANNEL = "person";

/** Channels with mailboxes. A connector of that name sends instead. */
const MAILBOX_CHANNELS: ReadonlySet<string> = new Set([API_CHANNEL, TERMINAL_CHANNEL]);

/** The owner's own mailbox of the API. The account keeps it apart from an API user who is called `owner`. */
export const OWNER_MAILBOX = { channel: API_CHANNEL, accountId: "root", to: "owner" } as const;
/** All mailboxes of the owner: the person at the terminal is the owner. */
export const OWNER_MAILBOXES: readonly DeliveryContext[] = [OWNER_MAILBOX, { channel: TERMINAL_CHANNEL, to: "owner" }];

/** The mailbox of a user of the API. */
export const apiMailbox = (user: string): DeliveryContext => ({ channel: API_CHANNEL, to: user });

/** The address of a person whose route is not known. */
export const personAddress = (person: string): DeliveryContext => ({ channel: PERSON_CHANNEL, to: person });

export type Route =
  | { readonly state: "pending"; readonly target: DeliveryContext }
  | { readonly state: WaitingState; readonly target: DeliveryContext; readonly reason?: string };

export interface Routes {
  /** Whether a connector with this name exists, here or on another node. */
  connected(channel: string): boolean;
  /** The address of a connector that takes over what is meant for another one. */
  takenOver?(target: DeliveryContext): DeliveryContext | undefined;
}

export function routeOf(wanted: DeliveryContext, { connected, takenOver }: Routes): Route {
  const target = takenOver?.(wanted) ?? wanted;
  const { channel, accountId, to } = target;
  if (channel === undefined || to === undefined) return { state: "unroutable", target, reason: "no recipient" };
  if (connected(channel)) return { state: "pending", target };
  // A mailbox belongs to a person, not to one of the person's threads.
  if (MAILBOX_CHANNELS.has(channel)) return { state: "waiting-reader", target: { channel, accountId, to } };
  const reason = channel === PERSON_CHANNEL ? `no route to ${to}` : `no connector "${channel}"`;
  return { state: "unroutable", target, reason };
}

/** The fields of a new delivery that its route decides. */
export function routed(route: Route): Pick<NewDelivery, "target" | "waits"> {
  const { state, target } = route;
  return state === "pending" ? { target } : { target, waits: { state, reason: route.reason } };
}
