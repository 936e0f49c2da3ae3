/** Whether a thread begins with the history of its parent conversation: in general, and by channel. */
import type { AgentDescriptor } from "./descriptor.ts";

export interface ThreadSettings {
  readonly inheritParent: boolean;
  readonly byChannel?: Readonly<Record<string, { readonly inheritParent: boolean }>>;
}

/** A person at the terminal opens a second conversation for something else. */
const TERMINAL = "terminal";

export function inheritsParent(settings: ThreadSettings, descriptor: AgentDescriptor): boolean {
  if (descriptor.type !== "user") return false;
  const channel = descriptor.connector.trim().toLowerCase();
  const named = Object.entries(settings.byChannel ?? {}).find(([name]) => name.trim().toLowerCase() === channel);
  return named?.[1].inheritParent ?? (settings.inheritParent && channel !== TERMINAL);
}
