/** Changes an agent's overrides, as a person or a program asked for. The agent's owner writes them in the order of the inbox. */

import { patchState, type StatePatch } from "../../../core/agent/patch-state.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Message } from "../../../core/message/message.ts";
import type { QueueSettings } from "../../../core/message/queue.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settleCommand } from "../actor/inbox-steps.ts";

export async function changeSettings(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  if (message.body.kind !== "setting") return;
  const { queue, patch = {}, refused } = message.body;
  if (refused) return settleCommand(ports, lease, message, { site: "setting.refused", reason: refused, text: refused });
  const all = { ...(queue !== undefined && queuePatch(queue)), ...patch };
  const texts = [...(queue === undefined ? [] : [queueText(queue)]), ...patchTexts(patch)];
  try {
    const state = patchState(lease.state, all, ports.clock.now());
    const text = texts.join("\n") || "⚙️ Nothing to change.";
    await settleCommand(ports, lease, message, { site: "setting", reason: "settings changed", text }, { state });
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    const text = `⚙️ ${error.message}`;
    await settleCommand(ports, lease, message, { site: "setting.wrong", reason: error.message, text });
  }
}

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
