/**
 * Changes an agent's overrides, as a person or a program asked for. The agent's owner writes them in the order of the inbox; rules
 * between two steps of a run already. Rules and command settings move the revision of rights: they bind its children too (L13).
 */

import { OWNERS_FIELDS } from "../../../core/agent/exec-fields.ts";
import type { StatePatch } from "../../../core/agent/patch-state.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import type { Message } from "../../../core/message/message.ts";
import type { QueueSettings } from "../../../core/message/queue.ts";
import type { Op } from "../../../core/store/change.ts";
import { withGrant, withoutRule } from "../../rights/stored-rules.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settleCommand, settlePatch } from "../actor/inbox-steps.ts";

export async function changeSettings(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  if (message.body.kind !== "setting") return;
  const { queue, patch: given = {}, rules, refused } = message.body;
  if (refused) return settleCommand(ports, lease, message, { site: "setting.refused", reason: refused, text: refused });
  const patch = rules ? { ...given, rules: rulesAfter(lease.state, rules) } : given;
  const all = { ...(queue !== undefined && queuePatch(queue)), ...patch };
  const texts = [...(queue === undefined ? [] : [queueText(queue)]), ...patchTexts(patch)];
  const text = texts.join("\n") || "⚙️ Nothing to change.";
  const ops: Op[] = changesRights(message.body) ? [{ op: "rights.move" }] : [];
  const answer = { site: "setting", reason: "settings changed", text } as const;
  await settlePatch(ports, lease, message, answer, { patch: all, ops });
}

type Rules = NonNullable<Extract<Message["body"], { kind: "setting" }>["rules"]>;

function rulesAfter({ rules: before = [] }: AgentState, { add, remove }: Rules): StatePatch["rules"] {
  const kept = remove === undefined ? before : withoutRule(before, remove);
  const after = add ? withGrant(kept, add) : kept;
  return after.length === 0 ? null : [...after];
}

/** Whether a message changes what its agent, and so its children, may do. */
const changesRights = (body: Message["body"]): boolean =>
  body.kind === "setting" &&
  (body.rules !== undefined || Object.keys(body.patch ?? {}).some((field) => OWNERS_FIELDS.includes(field)));

/** `null` clears all queue overrides. */
function queuePatch(queue: Partial<QueueSettings> | null): StatePatch {
  if (queue === null) return { queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null };
  const { mode, debounceMs, cap, dropPolicy } = queue;
  return { queueMode: mode, queueDebounceMs: debounceMs, queueCap: cap, queueDrop: dropPolicy };
}

function queueText(queue: Partial<QueueSettings> | null): string {
  if (queue === null) return "⚙️ Queue: back to the default.";
  const changes = Object.entries(queue)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
  return `⚙️ Queue: ${changes || "unchanged"}.`;
}

const SEND_WORDS: Readonly<Record<string, string>> = { allow: "on", deny: "off" };

function patchTexts(patch: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(patch).map(([field, value]) => {
    if (field === "sendPolicy") return `⚙️ Send policy set to ${SEND_WORDS[String(value)] ?? "inherit"}.`;
    return value === null ? `⚙️ ${field} cleared.` : `⚙️ ${field} set to ${JSON.stringify(value)}.`;
  });
}
