/** The name of an agent on screens. */
import type { AgentDescriptor } from "./descriptor.ts";

export function labelOf(descriptor: AgentDescriptor): string {
  switch (descriptor.type) {
    case "subagent":
      return descriptor.name;
    case "permanent":
      return descriptor.username === undefined ? descriptor.name : `${descriptor.name} (@${descriptor.username})`;
    case "cron":
      return descriptor.name ?? "cron task";
    case "system":
      return descriptor.tag;
    default:
      return descriptor.type;
  }
}
