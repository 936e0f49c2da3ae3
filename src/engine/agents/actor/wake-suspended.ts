/** What an actor does with an agent whose run waits for a person (M31): mostly nothing, and without holding anything. */
import { CorruptDataError } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import { type WhileSuspended, whileSuspended } from "../../inbox/while-suspended.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { stopOf } from "../../subagents/tree.ts";
import { type RecoveryParts, recoverRun } from "../recovery/recover-run.ts";

const PAGE = 256;

/** `woken`: the run went on, until it ended or was suspended again. */
type Woken = "woken" | Exclude<WhileSuspended, { act: "resume" }>;

export async function wakeSuspended(parts: RecoveryParts, lease: AgentLease, runId: RunId): Promise<Woken> {
  const { store, clock } = parts.host.ports;
  const waiting: Message[] = [];
  for (let page = await store.waiting(lease.agentId, { limit: PAGE }); page.length > 0; ) {
    waiting.push(...page);
    page = page.length < PAGE ? [] : await store.waiting(lease.agentId, { limit: PAGE, afterSeq: page.at(-1)?.seq });
  }
  const run = await store.run(runId);
  if (!run) throw new CorruptDataError(`Agent ${lease.agentId} names the run ${runId}, which does not exist.`);
  const next = whileSuspended(waiting, run, clock.now());
  // A mark ends the run, also without a message.
  const marked = run.abort !== undefined || (await stopOf(store, lease.record)) !== undefined;
  if (!marked && next.act !== "resume") return next;
  const waking = next.act === "resume" ? next : { decisions: [], waitEnds: false };
  await recoverRun(parts, lease, runId, waking);
  const { agentId } = lease;
  parts.host.emit({ type: "settled", messages: waking.decisions.map(({ seq }) => ({ agentId, seq })) });
  return "woken";
}
