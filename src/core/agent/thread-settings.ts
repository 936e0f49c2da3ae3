/** Whether a thread begins with the history of its parent conversation: in general, and by channel. */
import type { AgentDescriptor } from "./descriptor.ts";

export interface ThreadSettings {
  readonly inheritParent: boolean;
  readonly byChannel?: Readonly<Record<string, { readonly inheritParent: boolean }>>;
}

/** A person at a terminal opens a second conversation for something else: the owner on the first, a guest on the second. */
const TERMINALS: ReadonlySet<string> = new Set(["terminal", "api"]);

export function inheritsParent(settings: ThreadSettings, descriptor: AgentDescriptor): boolean {
  if (descriptor.type !== "user") return false;
  const channel = descriptor.connector.trim().toLowerCase();
  const named = Object.entries(settings.byChannel ?? {}).find(([name]) => name.trim().toLowerCase() === channel);
  return named?.[1].inheritParent ?? (settings.inheritParent && !TERMINALS.has(channel));
}
