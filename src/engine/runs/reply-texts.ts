/** What of the texts of a model is sent to people: whole messages or their blocks, and only what stands in `<final>` if that is enforced. */
import type { Settings } from "../../config/settings.ts";
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import type { ModelResult } from "../../core/ports/model.ts";
import { createDeliveries, isSilentReply } from "../outbox/create-deliveries.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { applySendPolicy } from "./apply-send-policy.ts";

export const FINAL_TAG_PROMPT =
  "Put what the person is to read between <final> and </final>. Nothing outside of these tags is shown to anyone.";

const [OPEN, CLOSE] = ["<final>", "</final>"];

/** The text between the tags; of an unfinished text also what follows an open tag. Empty without a tag. Linear. */
export function finalText(text: string): string {
  const parts: string[] = [];
  for (let at = text.indexOf(OPEN); at >= 0; ) {
    const from = at + OPEN.length;
    const end = text.indexOf(CLOSE, from);
    parts.push(text.slice(from, end < 0 ? undefined : end).trim());
    if (end < 0) break;
    at = text.indexOf(OPEN, end + CLOSE.length);
  }
  return parts.filter((part) => part !== "").join("\n\n");
}

type ReplySettings = Pick<Settings["runs"], "blockReplyBreak" | "enforceFinalTag">;

/** What is sent of one message of the model, in order. One text with `message_end`. */
export function replyTexts(content: ModelResult["content"], settings: ReplySettings): readonly string[] {
  const blocks = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const shown = (text: string): string => (settings.enforceFinalTag ? finalText(text) : text);
  if (settings.blockReplyBreak === "message_end") return [shown(blocks.join(""))];
  const texts = blocks.map(shown).filter((text) => text.trim() !== "");
  return texts.length === 0 ? [""] : texts;
}

/** What is sent of a message with tool calls before they start: nothing with `message_end`. */
const textsBeforeCalls = (content: ModelResult["content"], settings: ReplySettings): readonly string[] =>
  settings.blockReplyBreak === "message_end"
    ? []
    : replyTexts(content, settings).filter((text) => text.trim() !== "" && !isSilentReply(text));

/** The texts before the calls, if each finished block of text is a delivery of its own. */
export function saidBeforeCalls(
  ports: RunPorts,
  agent: AgentLease["record"],
  run: LiveRun,
  content: ModelResult["content"],
  at: number,
): readonly NewDelivery[] {
  const { delivery: target, trigger, memoryFlush, behalf, replyToId } = run.body;
  if (!target || trigger || memoryFlush) return [];
  const made: NewDelivery[] = [];
  for (const text of textsBeforeCalls(content, run.settings.runs)) {
    const ordinal = run.body.deliveries + made.length;
    const draft = { agentId: run.agentId, profile: agent.profile, runId: run.id, ordinal, at, target };
    const whose = { person: behalf?.person, connectors: ports.connectors };
    const payload = made.length === 0 && run.body.deliveries === 0 ? { text, replyToId } : { text };
    made.push(...createDeliveries({ ...draft, ...whose }, payload));
  }
  return applySendPolicy(ports.settings.current.session.sendPolicy, agent, made);
}
