/** The name of an agent on the screen: its label, or the most telling part of its session key. */
import { t } from "./texts.ts";

/** The server names an agent by its kind if it has no label. */
const KINDS = ["user", "cron", "heartbeat", "system", "subagent", "swarm", "permanent"];

export function agentName({ label, sessionKey }: { readonly label: string; readonly sessionKey: string }): string {
  if (!KINDS.includes(label) && label !== "") return label;
  const parts = sessionKey.split(":");
  const last = decoded(parts.at(-1) ?? "");
  if (parts[0] === "agent" && parts.length === 3 && last === "main") return t.agentName.main;
  const kind = parts.at(-2);
  if (kind === "group") return t.agentName.group(last);
  if (kind === "channel") return t.agentName.channel(last);
  return last.replace(/^person:/, "") || label;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
